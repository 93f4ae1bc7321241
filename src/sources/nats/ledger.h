// Ledger: the deliveries of one connection, and the acknowledgements still to be sent. Pure; not
// thread-safe.
//
// A delivery waits until the engine receives it, is out until it is settled, and waits here again
// when it is given back: the server is not asked to redeliver it, because it would count that as a
// delivery, and a consumer with max_deliver gives up messages delivered too often.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "core/delivery_ledger.h"

namespace semel::nats {

class Ledger {
 public:
  // `reply`: the subject of its acknowledgement, never empty. Tags count from one, in this order.
  void arrived(std::string reply, std::unique_ptr<Arrival> arrival);

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
  // When the oldest of those that are not settled was sent, by its broker; none: nothing is open.
  std::optional<std::chrono::system_clock::time_point> oldest_sent() const;

  // The subjects to acknowledge now; the caller must send them.
  std::vector<std::string> take_acks();
  // Settled, and not sent yet.
  std::size_t acks() const noexcept { return acks_.size(); }

  // Not settled.
  std::size_t open() const noexcept { return deliveries_.open(); }
  // The subjects of those, in order.
  std::vector<std::string> open_replies() const;

 private:
  core::DeliveryLedger<std::unique_ptr<Arrival>> deliveries_;
  std::deque<std::string> replies_;  // from `first_` on; empty where it is settled
  std::uint64_t first_ = 1;
  std::vector<std::string> acks_;
};

}  // namespace semel::nats
