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
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include <semel/delivery.h>
#include <semel/source.h>

namespace semel::rabbitmq {

class Ledger {
 public:
  // Tags grow.
  void arrived(std::uint64_t tag, std::unique_ptr<Arrival> arrival);
  // The lowest one that waits, which is out from here on and kept until it is settled; null: none
  // waits. It is good until something else is called.
  struct Taken {
    std::uint64_t tag = 0;
    const Arrival* arrival = nullptr;
  };
  Taken take();
  bool has_waiting() const noexcept { return fresh_ < entries_.size() || !given_back_.empty(); }

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
  std::size_t untold() const noexcept { return open_ + acked_.size(); }
  // Not settled.
  std::size_t open() const noexcept { return open_; }

 private:
  enum class State : std::uint8_t { kOpen, kAcked, kTold };
  struct Entry {
    std::uint64_t tag = 0;
    State state = State::kOpen;
    std::unique_ptr<Arrival> arrival;  // while it is open
  };
  // Null where nothing is known of `tag`.
  Entry* find(std::uint64_t tag);

  std::deque<Entry> entries_;  // by tag; the first one was not told
  std::size_t fresh_ = 0;      // entries from here on were never taken
  std::set<std::uint64_t> given_back_;
  std::vector<std::uint64_t> acked_;  // as they came
  std::size_t open_ = 0;
};

}  // namespace semel::rabbitmq
