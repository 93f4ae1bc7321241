// Ledger: the messages of one partition in one assignment, and how far they are settled. Not
// thread-safe.
//
// A message that was handed out is kept until it is settled, because the broker delivers nothing
// twice within an assignment. It is kept as librdkafka's own message, which costs nothing but
// retains everything fetched with it; so a message far behind the others is replaced by a copy
// (left_behind).
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

// A record that is not settled yet: `message` or `copy` holds it, the other is null.
struct Kept {
  RecordPtr message;
  std::unique_ptr<Arrival> copy;
  // The record's timestamp, whoever gave it; none: it has none. For people, and no decision.
  std::optional<std::chrono::system_clock::time_point> sent{};
};

class Ledger {
 public:
  // Whether `offset` is above all earlier ones. If not, the log was cut or replaced, and the
  // offsets here mean other messages: the rest of the assignment needs a new ledger.
  bool grows(std::int64_t offset) const noexcept { return offset > last_ && offset >= end_; }

  // The partition was read to its end: offsets before `offset` that never came are no records, but
  // marks of transactions, or aborted. False where the end is not above all that came.
  bool met_end(std::int64_t offset) noexcept;
  // Where a group begins that has no offset, so that a crash does not begin it anew behind this.
  void begin_at(std::int64_t offset) noexcept { begin_ = begin_ < 0 ? offset : begin_; }

  // `size`: of the message, in bytes.
  void handed_out(std::int64_t offset, Kept kept, std::size_t size);
  // Hands out a given-back message again, the lowest offset first; null: there is none. Valid until
  // the next call.
  const Kept* take_given_back();
  bool has_given_back() const noexcept { return deliveries_.has_waiting(); }
  // The next message after which more than kMostKept bytes were handed out, settled or not: the
  // caller replaces it by a copy. Null: there is none. Valid until the next call.
  Kept* left_behind();
  static constexpr std::size_t kMostKept = 4 << 20;

  // False where `offset` is not out: settled before, or never received.
  bool settle(std::int64_t offset, Settlement::Kind kind) {
    return deliveries_.settle(static_cast<std::uint64_t>(offset), kind);
  }

  // The group's next offset at the broker, in this assignment; -1: none yet.
  std::int64_t committed() const noexcept { return committed_; }
  // Everything that came is settled, and the broker knows it.
  bool clear() const noexcept { return all_settled() && (last_ < 0 || committed_ > last_); }

  std::size_t out() const noexcept { return deliveries_.out(); }
  // How far messages may be handed out beyond one that is not settled; then the partition is not
  // read, which bounds what a crash repeats and what is kept in memory.
  static constexpr std::int64_t kMostBehindOpen = 100'000;
  bool full() const noexcept { return span() >= kMostBehindOpen; }
  // The timestamp of the first that is not settled; none: there is none, or it has none.
  std::optional<std::chrono::system_clock::time_point> oldest_sent() const;
  // Offsets from the first that is not settled to the last that came.
  std::int64_t span() const noexcept {
    return all_settled() ? 0 : last_ - static_cast<std::int64_t>(deliveries_.first_open());
  }

  // The next offset to commit, if that is higher than the last requested one. The caller commits
  // it, and reports a failure.
  std::optional<std::int64_t> take_commit();
  void commit_failed() noexcept { asked_ = committed_; }
  void committed(std::int64_t next) noexcept { committed_ = next; }
  bool to_commit() const noexcept;
  // The broker reports the group's offset: it is not committed again. A needless commit may affect
  // a topic that was recreated since.
  void stands_at(std::int64_t next) noexcept {
    if (next == position()) asked_ = committed_ = next;
  }

 private:
  struct Part {
    Kept kept;
    std::size_t end = 0;  // bytes handed out up to and with it
  };
  bool all_settled() const noexcept { return deliveries_.open() == 0; }
  // The offset to read next after a crash; -1: unknown.
  std::int64_t position() const noexcept;

  core::DeliveryLedger<Part> deliveries_;
  std::size_t near_ = 0;  // deliveries before this one are copies by now
  std::size_t bytes_ = 0;
  std::int64_t last_ = -1;       // the last that came
  std::int64_t begin_ = -1;      // where a group without an offset begins; -1: it has one
  std::int64_t end_ = -1;        // the partition's end, when it was last read up to it
  std::int64_t asked_ = -1;      // next offset of the last requested commit
  std::int64_t committed_ = -1;  // and of the last that the broker accepted
};

}  // namespace semel::kafka
