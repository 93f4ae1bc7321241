// Ledger: what one partition brought in one assignment, and how far it is settled. Not thread-safe.
//
// What is handed out is kept until it is settled, for the broker brings nothing again within an
// assignment. It is kept as librdkafka's own message, which costs nothing but holds all that was
// fetched with it; so what is left far behind is kept as a copy instead (left_behind).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "clients/kafka/handles.h"
#include "core/delivery_ledger.h"

namespace semel::kafka {

// One of both, while it is not settled.
struct Kept {
  RecordPtr message;
  std::unique_ptr<Arrival> copy;
  // The record's timestamp, whoever gave it; none: it has none. For people, and no decision.
  std::optional<std::chrono::system_clock::time_point> sent{};
};

class Ledger {
 public:
  // Whether `offset` comes after all that came before. Where not, the log was cut or begun anew
  // and what is known here means other messages: the assignment's rest needs a ledger of its own.
  bool grows(std::int64_t offset) const noexcept { return offset > last_ && offset >= end_; }

  // The partition was read to its end: what stands before `offset` and never came is no record, but
  // a transaction's mark, or was aborted. False where the end is not behind all that came.
  bool met_end(std::int64_t offset) noexcept;
  // Where a group begins that has no offset, so that a crash does not begin it anew behind this.
  void begin_at(std::int64_t offset) noexcept { begin_ = begin_ < 0 ? offset : begin_; }

  // `size`: of the message, in bytes.
  void handed_out(std::int64_t offset, Kept kept, std::size_t size);
  // One that was given back and is out again now, the lowest offset first; null: there is none. It
  // is good until something else is called.
  const Kept* take_given_back();
  bool has_given_back() const noexcept { return deliveries_.has_waiting(); }
  // The next message behind which more than kMostKept bytes were handed out, settled or not: a copy
  // is to take its place. Null: there is none. Good as above.
  Kept* left_behind();
  static constexpr std::size_t kMostKept = 4 << 20;

  // False where `offset` is not out: settled before, or never received.
  bool settle(std::int64_t offset, Settlement::Kind kind) {
    return deliveries_.settle(static_cast<std::uint64_t>(offset), kind);
  }

  // The next offset that the broker has for the group, in this assignment; -1: none yet.
  std::int64_t committed() const noexcept { return committed_; }
  // All that came is settled, and the broker has been told.
  bool clear() const noexcept { return all_settled() && (last_ < 0 || committed_ > last_); }

  std::size_t out() const noexcept { return deliveries_.out(); }
  // So far may messages be handed out behind one that is not settled; past it the partition is not
  // read, so that what a crash brings again, and what is kept of it, has a bound.
  static constexpr std::int64_t kMostBehindOpen = 100'000;
  bool full() const noexcept { return span() >= kMostBehindOpen; }
  // The timestamp of the first that is not settled; none: there is none, or it has none.
  std::optional<std::chrono::system_clock::time_point> oldest_sent() const;
  // Offsets from the first that is not settled to the last that came.
  std::int64_t span() const noexcept {
    return all_settled() ? 0 : last_ - static_cast<std::int64_t>(deliveries_.first_open());
  }

  // The next offset to read, where that is further than what was asked for before. Whoever takes
  // it commits it, and tells if that failed.
  std::optional<std::int64_t> take_commit();
  void commit_failed() noexcept { asked_ = committed_; }
  void committed(std::int64_t next) noexcept { committed_ = next; }
  bool to_commit() const noexcept;
  // The broker says what it has for the group: that is not committed once more. A commit that is
  // not needed may meet a topic that was made anew since.
  void stands_at(std::int64_t next) noexcept {
    if (next == position()) asked_ = committed_ = next;
  }

 private:
  struct Part {
    Kept kept;
    std::size_t end = 0;  // bytes that had been handed out with it
  };
  bool all_settled() const noexcept { return deliveries_.open() == 0; }
  // The offset to read next after a crash; -1: not known.
  std::int64_t position() const noexcept;

  core::DeliveryLedger<Part> deliveries_;
  std::size_t near_ = 0;  // deliveries before this one are no messages any more
  std::size_t bytes_ = 0;
  std::int64_t last_ = -1;       // that came
  std::int64_t begin_ = -1;      // where a group without an offset begins; -1: it has one
  std::int64_t end_ = -1;        // of the partition, when it was last read to it
  std::int64_t asked_ = -1;      // next offset of the last commit that was asked for
  std::int64_t committed_ = -1;  // and of the last that the broker took
};

}  // namespace semel::kafka
