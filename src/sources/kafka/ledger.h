// Ledger: what one partition brought in one assignment, and how far it is settled. Pure; not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include <semel/delivery.h>
#include <semel/source.h>

#include "core/ack_tracker.h"

namespace semel::kafka {

class Ledger {
 public:
  // Whether `offset` comes after all that came before. Where not, the log was cut or begun anew
  // and what is known here means other messages: the assignment's rest needs a ledger of its own.
  bool grows(std::int64_t offset) const noexcept { return offset > last_; }

  // Keeps a copy of what is handed out: the broker brings nothing again within an assignment.
  void handed_out(std::int64_t offset, const Arrival& arrival);
  // One that was given back, the lowest offset first.
  std::optional<Arrival> take_given_back();
  bool has_given_back() const noexcept { return !given_back_.empty(); }

  // False where `offset` is not out: settled before, or never received.
  bool settle(std::int64_t offset, Settlement::Kind kind);

  // The next offset that the broker has for the group, in this assignment; -1: none yet.
  std::int64_t committed() const noexcept { return committed_; }
  // All that came is settled, and the broker has been told.
  bool clear() const noexcept { return open_.empty() && (last_ < 0 || committed_ > last_); }

  std::size_t out() const noexcept { return open_.size() - given_back_.size(); }
  // So far may messages be handed out behind one that is not settled; past it the partition is not
  // read, so that what a crash brings again, and what is kept of it, has a bound.
  static constexpr std::int64_t kMostBehindOpen = 100'000;
  bool full() const noexcept { return span() >= kMostBehindOpen; }
  // Offsets from the first that is not settled to the last that came.
  std::int64_t span() const noexcept { return open_.empty() ? 0 : last_ - open_.begin()->first; }

  // The next offset to read, where that is further than what was asked for before. Whoever takes
  // it commits it, and tells if that failed.
  std::optional<std::int64_t> take_commit();
  void commit_failed() noexcept { asked_ = committed_; }
  void committed(std::int64_t next) noexcept { committed_ = next; }
  bool to_commit() const noexcept;

 private:
  core::AckTracker tracker_;
  std::map<std::int64_t, Arrival> open_;
  std::set<std::int64_t> given_back_;
  std::int64_t last_ = -1;       // that came
  std::int64_t asked_ = -1;      // next offset of the last commit that was asked for
  std::int64_t committed_ = -1;  // and of the last that the broker took
};

}  // namespace semel::kafka
