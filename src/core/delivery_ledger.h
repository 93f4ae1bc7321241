// DeliveryLedger: the unsettled deliveries of one partition or connection, each with a value that
// its source keeps for it. Pure; not thread-safe.
//
// A delivery waits until it is taken, is out until it is settled, and waits again when it is given
// back: the lowest waiting position is always taken first. A source to which the broker pushes
// messages calls `arrived`; one that asks for them calls `handed_out`.
//
// A ledger belongs to one generation: when positions begin anew, as on a new connection, a new
// ledger replaces it, and Tag::generation distinguishes the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <semel/spi/source.h>

#include "core/ack_tracker.h"

namespace semel::core {

// How long a value is kept: until its own delivery is settled, or until all before it are too.
enum class Keeps { kUntilSettled, kUntilPassed };

template <class Value, Keeps Until = Keeps::kUntilSettled>
class DeliveryLedger {
 public:
  using Position = std::uint64_t;

  // Both: positions must grow; gaps are allowed.
  void arrived(Position position, Value value) {
    tracker_.received(position);
    values_.push_back(std::move(value));
  }
  // REQUIRES: only given-back deliveries wait.
  void handed_out(Position position, Value value) {
    arrived(position, std::move(value));
    ++taken_;
  }

  // Takes the lowest position that waits; it is out from then on. Its value is valid until the next
  // call. Null: nothing waits.
  struct Taken {
    Position position = 0;
    Value* value = nullptr;
  };
  Taken take() {
    if (!given_back_.empty()) {
      const Position position = *given_back_.begin();
      given_back_.erase(given_back_.begin());
      return {position, &values_[*tracker_.place_of(position)]};
    }
    if (taken_ == values_.size()) return {};
    const std::size_t place = taken_++;
    return {tracker_.position_at(place), &values_[place]};
  }
  bool has_waiting() const noexcept { return taken_ < values_.size() || !given_back_.empty(); }

  // False where `position` is not out: it was never taken, was given back, or was settled before.
  bool settle(Position position, Settlement::Kind kind) {
    const auto place = tracker_.place_of(position);
    if (!place || *place >= taken_) return false;
    if (!given_back_.empty() && given_back_.contains(position)) return false;
    if (kind != Settlement::Kind::kAck && kind != Settlement::Kind::kGone) {
      given_back_.insert(position);
      return true;
    }
    if constexpr (Until == Keeps::kUntilSettled) {
      // Not by assignment: a string that is assigned an empty one keeps its memory.
      std::destroy_at(&values_[*place]);
      std::construct_at(&values_[*place]);
    }
    tracker_.settled(position);
    while (values_.size() > tracker_.behind()) pass();
    return true;
  }

  // The last position up to which everything is settled; none before the first.
  std::optional<Position> prefix() const noexcept { return tracker_.prefix(); }
  // The value of that position.
  const std::optional<Value>& last_passed() const noexcept requires(Until == Keeps::kUntilPassed) {
    return last_passed_;
  }

  std::size_t open() const noexcept { return tracker_.open(); }  // not settled
  // Taken and not settled; given-back deliveries do not count.
  std::size_t out() const noexcept {
    return open() - (values_.size() - taken_) - given_back_.size();
  }
  std::size_t given_back() const noexcept { return given_back_.size(); }

  // The values of all that is open, in the order of their positions, until `visit` answers false.
  template <class Visit>
  void each_open(Visit&& visit) const {
    for (std::size_t place = 0; place < values_.size(); ++place) {
      if (tracker_.open_at(place) && !visit(values_[place])) return;
    }
  }
  // REQUIRES: something is open.
  Position first_open() const { return tracker_.position_at(0); }
  // How many deliveries the prefix has passed since the ledger began; those after it are numbered
  // from here.
  std::size_t passed() const noexcept { return passed_; }
  std::size_t end() const noexcept { return passed_ + values_.size(); }
  // The value of a delivery after the prefix. Null: it is settled.
  Value* open_value(std::size_t number) {
    return tracker_.open_at(number - passed_) ? &values_[number - passed_] : nullptr;
  }

 private:
  void pass() {
    if constexpr (Until == Keeps::kUntilPassed) last_passed_ = std::move(values_.front());
    values_.pop_front();
    --taken_;
    ++passed_;
  }

  AckTracker tracker_;
  std::deque<Value> values_;  // of the deliveries after the prefix, by the tracker's places
  std::size_t taken_ = 0;     // values from this place on were never taken
  std::size_t passed_ = 0;
  std::set<Position> given_back_;
  std::optional<Value> last_passed_;
};

}  // namespace semel::core
