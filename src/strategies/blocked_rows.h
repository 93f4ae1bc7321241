// BlockedRows: what a consumer's statements waited for in vain, because somebody else has it
// locked.
//
// Each wait costs a batch its time, and those that need what the batch has locked meanwhile. So
// messages of such a row go back untried, and from time to time one of them looks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>

#include <semel/spi/recorded_statement.h>

#include "system/mutex.h"

namespace semel::strategies {

// Thread-safe.
class BlockedRows {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  enum class Known {
    kNothing,
    kBlocked,    // it is to wait
    kLooksAgain  // it is this message's turn to look
  };
  struct Answer {
    Known known = Known::kNothing;
    std::chrono::milliseconds wait{0};  // where it is blocked
  };
  // Asks for a message with these statements, and perhaps a question behind them. `looks`: rows
  // that it was this message's turn to look at before; those of kLooksAgain are added.
  Answer ask(const StatementList& statements, const RecordedStatement* question,
             std::set<LockName>& looks, TimePoint now) SEMEL_EXCLUDES(mutex_);

  // This statement, of a message with these, waited in vain. Returns how long its row is left
  // alone: longer each time. So is the row whose versions the message's belongs to, for those
  // behind it cannot go first.
  std::chrono::milliseconds add(const RecordedStatement& blocked, const StatementList& statements,
                                TimePoint now) SEMEL_EXCLUDES(mutex_);
  // Their statements ran.
  void forget(const std::set<LockName>& rows) SEMEL_EXCLUDES(mutex_);

  // That happened a short while ago, and may again.
  bool any_of_late(TimePoint now) const noexcept;

 private:
  struct Row {
    std::chrono::milliseconds rest{0};
    TimePoint until;
  };
  Row* find_or_add(const LockName& name, TimePoint now) SEMEL_REQUIRES(mutex_);
  void forget_expired(TimePoint now) SEMEL_REQUIRES(mutex_);

  mutable system::Mutex mutex_;
  std::map<LockName, Row> rows_ SEMEL_GUARDED_BY(mutex_);
  std::atomic<TimePoint> last_{TimePoint::min()};
};

}  // namespace semel::strategies
