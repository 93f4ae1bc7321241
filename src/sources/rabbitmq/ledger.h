// Ledger: what one channel brought, and what of it the broker is still to be told. Pure; not
// thread-safe.
//
// A delivery is waiting (nobody has received it), out (the engine has it), acked (settled, and the
// broker not told yet) or gone. What is given back waits again: the broker is not asked to bring it
// once more, since it would count that as a failed delivery, and a queue with a delivery limit
// drops what it has brought too often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <semel/delivery.h>
#include <semel/source.h>

namespace semel::rabbitmq {

class Ledger {
 public:
  // Tags grow.
  void arrived(std::uint64_t tag, Arrival arrival);
  // The lowest one that waits; a copy of it is kept until it is settled.
  std::optional<Arrival> take();
  bool has_waiting() const noexcept { return !waiting_.empty(); }

  // False where `tag` is not out: settled before, or never received.
  bool settle(std::uint64_t tag, Settlement::Kind kind);

  // What to tell the broker now, in this order; it is taken to be told.
  struct Ack {
    std::uint64_t tag = 0;
    bool multiple = false;  // it, and all before it
    bool operator==(const Ack&) const = default;
  };
  std::vector<Ack> take_acks();
  bool has_acks() const noexcept { return !acked_.empty(); }

  // Brought and not told: what the broker counts against the prefetch.
  std::size_t untold() const noexcept { return open_.size() + acked_.size(); }
  // Not settled.
  std::size_t open() const noexcept { return open_.size(); }

 private:
  std::map<std::uint64_t, Arrival> open_;  // waiting or out
  std::set<std::uint64_t> waiting_;
  std::set<std::uint64_t> acked_;
};

}  // namespace semel::rabbitmq
