// Ledger: what one channel brought, and what of it the broker is still to be told. Pure; not
// thread-safe.
//
// A delivery waits until the engine receives it, is out until it is settled, and waits again when
// it is given back: the broker is not asked to bring it once more, since it would count that as a
// failed delivery, and a queue with a delivery limit drops what it has brought too often.
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
  // The lowest one that waits, which is out from here on and kept until it is settled; null: none
  // waits. It is good until something else is called.
  struct Taken {
    std::uint64_t tag = 0;
    const Arrival* arrival = nullptr;
  };
  Taken take();
  bool has_waiting() const noexcept { return deliveries_.has_waiting(); }

  // False where `tag` is not out: settled before, or never received.
  bool settle(std::uint64_t tag, Settlement::Kind kind);

  // What to tell the broker now, in this order; it is taken to be told.
  struct Ack {
    std::uint64_t tag = 0;
    bool multiple = false;  // it, and all before it
    bool operator==(const Ack&) const = default;
  };
  std::vector<Ack> take_acks();
  // Settled, and not told.
  std::size_t acks() const noexcept { return acked_.size(); }

  // Brought and not told: what the broker counts against the prefetch.
  std::size_t untold() const noexcept { return open() + acked_.size(); }
  // Not settled.
  std::size_t open() const noexcept { return deliveries_.open(); }

 private:
  core::DeliveryLedger<std::unique_ptr<Arrival>> deliveries_;
  std::vector<std::uint64_t> acked_;  // as they came
};

}  // namespace semel::rabbitmq
