// In which order the messages of a batch lock rows of the business.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <semel/spi/recorded_statement.h>

namespace semel::strategies {

// Two batches that change the same rows wait for each other in a ring, where each locks them in the
// order in which its messages came: then the server undoes one of them, PostgreSQL after a second.
// So messages are put in the order of the rows that they share: those of the statement whose rows
// come again most often, as the batches so far tell. A payment's own row is no other message's; the
// account it is booked on is many's. No ring comes from messages that share one row each, or whose
// rows stand in the same order for all. Any thread.
class LockOrder {
 public:
  // Sorts `places`, whose lists are `lists` by place. What is alike keeps its order, and messages
  // about one row's versions stand in the order of these, whatever else they lock.
  void sort(std::vector<std::size_t>& places, std::span<const StatementList* const> lists);

 private:
  // Of a list's statements, these are looked at.
  static constexpr std::size_t kLooked = 8;

  void learn(const std::vector<std::size_t>& places, std::span<const StatementList* const> lists);
  std::size_t most_shared(std::size_t statements) const noexcept;

  // By place in the list: how often a row had come before in its batch.
  std::array<std::atomic<std::uint32_t>, kLooked> shared_{};
};

// The values that say which rows are meant: of a statement without a condition all of them.
std::span<const Value> rows_of(const RecordedStatement& statement) noexcept;

}  // namespace semel::strategies
