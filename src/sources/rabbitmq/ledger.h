// Ledger: the deliveries of one channel, and the acknowledgements still to be sent. Pure; not
// thread-safe.
//
// A delivery waits until the engine receives it, is out until it is settled, and waits here again
// when it is given back: the broker is not asked to redeliver it, because it would count that as a
// failed delivery, and a queue with a delivery limit drops messages delivered too often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "core/delivery_ledger.h"

namespace semel::rabbitmq {

class Ledger {
 public:
  // Tags grow.
  void arrived(std::uint64_t tag, std::unique_ptr<Arrival> arrival) {
    deliveries_.arrived(tag, std::move(arrival));
  }
  // Takes the lowest delivery that waits; it is out from then on, and kept until it is settled.
  // Null: none waits. Valid until the next call.
  struct Taken {
    std::uint64_t tag = 0;
    const Arrival* arrival = nullptr;
  };
  Taken take();
  bool has_waiting() const noexcept { return deliveries_.has_waiting(); }

  // False where `tag` is not out: settled before, or never received.
  bool settle(std::uint64_t tag, Settlement::Kind kind);

  // The acks to send now, in this order; the caller must send them.
  struct Ack {
    std::uint64_t tag = 0;
    bool multiple = false;  // it, and all before it
    bool operator==(const Ack&) const = default;
  };
  std::vector<Ack> take_acks();
  // Settled, and not sent yet.
  std::size_t acks() const noexcept { return acked_.size(); }

  // Delivered and not acknowledged: what the broker counts against the prefetch.
  std::size_t untold() const noexcept { return open() + acked_.size(); }
  // Not settled.
  std::size_t open() const noexcept { return deliveries_.open(); }

 private:
  core::DeliveryLedger<std::unique_ptr<Arrival>> deliveries_;
  std::vector<std::uint64_t> acked_;  // in the order of settling
};

}  // namespace semel::rabbitmq
