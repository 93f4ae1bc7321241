// Habits: what the batches of a consumer tell those that come, in one process.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include <semel/spi/recorded_statement.h>

#include "strategies/blocked_rows.h"
#include "strategies/lock_order.h"
#include "strategies/transaction_limit.h"

namespace semel::strategies {

// Messages in a row for which a statement failed that no message can make succeed. Thread-safe.
class HopelessRun {
 public:
  // Dead letters of one cause before the consumer pauses.
  static constexpr int kMost = 3;

  // Counts one that may become a dead letter. False: there were enough.
  bool take() noexcept;
  // Uncounts messages whose transaction was undone.
  void give_back(int count) noexcept;
  // Counts one that is a dead letter already. Returns how many there are.
  int add() noexcept { return ++count_; }
  // A message succeeded.
  void end() noexcept;

 private:
  std::atomic<int> count_{0};
};

// Thread-safe.
struct Habits {
  explicit Habits(LockName the_group) : group(the_group) {}

  const LockName group;  // of the consumer's transactions, in whichever process
  LockOrder lock_order;
  TransactionLimit limit;
  BlockedRows blocked;
  // Batches that go step by step, for one before them broke where nothing told who had broken it.
  std::atomic<int> careful{0};
  HopelessRun hopeless;
};

std::shared_ptr<Habits> make_habits(std::string_view consumer);

}  // namespace semel::strategies
