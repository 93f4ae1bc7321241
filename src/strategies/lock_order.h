// The order in which the messages of a batch lock business rows.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <semel/spi/recorded_statement.h>

namespace semel::strategies {

// Two batches that change the same rows deadlock if each locks them in the order in which its
// messages came: then the server undoes one of them, PostgreSQL after a second. So messages are
// sorted by the rows that they share: those of the statement whose rows repeat most often, as
// observed in earlier batches. A payment's own row belongs to no other message; the account it is
// booked on is shared by many. No deadlock comes from messages that share one row each, or whose
// rows have the same order everywhere. Thread-safe.
class LockOrder {
 public:
  // Sorts `places`, whose lists are `lists` by place. Equal ones keep their order, and messages
  // about one row's versions are in the order of these, whatever else they lock.
  void sort(std::vector<std::size_t>& places, std::span<const StatementList* const> lists);

 private:
  // How many of a list's statements are looked at.
  static constexpr std::size_t kLooked = 8;

  void learn(const std::vector<std::size_t>& places, std::span<const StatementList* const> lists);
  std::size_t most_shared(std::size_t statements) const noexcept;

  // By place in the list: how often a row had occurred before in its batch.
  std::array<std::atomic<std::uint32_t>, kLooked> shared_{};
};

// The values that identify the rows; for a statement without a condition, all of them.
std::span<const Value> rows_of(const RecordedStatement& statement) noexcept;

}  // namespace semel::strategies
