// Ledger: what one connection brought, and what of it the server is still to be told. Pure; not
// thread-safe.
//
// A delivery waits until the engine receives it, is out until it is settled, and waits again when
// it is given back: the server is not asked to bring it once more, since it would count that as a
// delivery, and a consumer with a limit of those gives up what it has delivered too often.
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
  // `reply`: where its acknowledgement goes, never empty. Tags count from one, in this order.
  void arrived(std::string reply, std::unique_ptr<Arrival> arrival);

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
  // When the oldest of those that are not settled was sent, by its broker; none: nothing is open.
  std::optional<std::chrono::system_clock::time_point> oldest_sent() const;

  // Where to acknowledge now; it is taken to be told.
  std::vector<std::string> take_acks();
  // Settled, and not told.
  std::size_t acks() const noexcept { return acks_.size(); }

  // Not settled.
  std::size_t open() const noexcept { return deliveries_.open(); }
  // Where those are acknowledged, in their order.
  std::vector<std::string> open_replies() const;

 private:
  core::DeliveryLedger<std::unique_ptr<Arrival>> deliveries_;
  std::deque<std::string> replies_;  // from `first_` on; empty where it is settled
  std::uint64_t first_ = 1;
  std::vector<std::string> acks_;
};

}  // namespace semel::nats
