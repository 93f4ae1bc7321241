// PipelineStats: what batches of a consumer leave for later ones, within one process.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include <semel/spi/recorded_statement.h>

#include "strategies/blocked_rows.h"
#include "strategies/lock_order.h"
#include "strategies/transaction_limit.h"

namespace semel::strategies {

// Counts messages in a row that failed by a statement that no message can make succeed.
// Thread-safe.
class HopelessRun {
 public:
  // Dead letters of one cause before the consumer pauses.
  static constexpr int kMost = 3;

  // Counts a message that may become a dead letter. False: there were enough.
  bool take() noexcept;
  // Uncounts messages whose transaction was undone.
  void give_back(int count) noexcept;
  // Counts a message that is a dead letter already. Returns the new count.
  int add() noexcept { return ++count_; }
  // A message succeeded.
  void end() noexcept;

 private:
  std::atomic<int> count_{0};
};

// Thread-safe.
struct PipelineStats {
  explicit PipelineStats(LockName the_group) : group(the_group) {}

  const LockName group;  // of the consumer's transactions, in every process
  LockOrder lock_order;
  TransactionLimit limit;
  BlockedRows blocked;
  // Batches to run step by step, because an earlier one broke and nothing showed which message
  // broke it.
  std::atomic<int> careful{0};
  HopelessRun hopeless;
};

std::shared_ptr<PipelineStats> make_pipeline_stats(std::string_view consumer);

}  // namespace semel::strategies
