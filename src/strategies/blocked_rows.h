// BlockedRows: the rows for which a consumer's statements waited in vain, because another program
// has them locked.
//
// Each such wait costs its batch time, and delays those that need what the batch has locked. So
// messages of such a row are given back untried, and from time to time one of them looks.
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
    kBlocked,    // it must wait
    kLooksAgain  // this message may look now
  };
  struct Answer {
    Known known = Known::kNothing;
    std::chrono::milliseconds wait{0};  // if it is blocked
  };
  // Asks whether a message with these statements, and perhaps a query after them, may run. `looks`:
  // the rows at which this message was allowed to look before; those of kLooksAgain are added.
  Answer ask(const StatementList& statements, const RecordedStatement* question,
             std::set<LockName>& looks, TimePoint now) SEMEL_EXCLUDES(mutex_);

  // Statement `blocked`, of a message with `statements`, waited in vain. Returns for how long its
  // row is left alone: longer each time. If the message's change is based on a row's version, that
  // row is left alone too, because later versions cannot go first.
  std::chrono::milliseconds add(const RecordedStatement& blocked, const StatementList& statements,
                                TimePoint now) SEMEL_EXCLUDES(mutex_);
  // The statements on these rows ran.
  void forget(const std::set<LockName>& rows) SEMEL_EXCLUDES(mutex_);

  // Whether a wait in vain happened a short while ago, and may again.
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
