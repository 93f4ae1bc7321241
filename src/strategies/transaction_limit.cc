#include "strategies/transaction_limit.h"

#include <algorithm>

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kLongestCalm = 16'384;
// Above this number of concurrent transactions the limit is lifted.
constexpr std::size_t kWidest = 16;
// After this many times the successes needed for widening, all without a deadlock, earlier
// deadlocks are forgotten.
constexpr std::size_t kForgetAfter = 4;
constexpr milliseconds kShortestPatience{100};
constexpr milliseconds kLongestPatience{500};
constexpr int kTypicalTimes = 16;
// The typical time is averaged with a weight of 1 / kNewest for the newest.
constexpr int kNewest = 8;

}  // namespace

TransactionLimit::Place TransactionLimit::enter() {
  const system::MutexLock lock(mutex_);
  left_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return running_ < limit_; });
  ++running_;
  return {*this, limit_ == 1 && alone_works_, deadlocks_};
}

void TransactionLimit::leave(bool confirmed, bool well) {
  const system::MutexLock lock(mutex_);
  --running_;
  const std::size_t before = limit_;
  if (well) {
    ++well_;
    if (confirmed) before_wait_ = 0;
    if (limit_ == kNoLimit) {
      if (well_ >= kForgetAfter * calm_) calm_ = kFirstCalm;
    } else if (well_ >= calm_) {
      limit_ = limit_ < kWidest ? limit_ * 2 : kNoLimit;
      well_ = 0;
    }
  }
  // Also wakes transactions that were waiting when the limit was lifted.
  if (before != kNoLimit) left_.notify_all();
}

void TransactionLimit::met(Conflict conflict) {
  const system::MutexLock lock(mutex_);
  ++deadlocks_;
  alone_works_ = true;  // else two processes that once failed to be alone would conflict for ever
  if (limit_ == 1) {
    if (conflict == Conflict::kDeadlock) before_wait_ = 0;
    well_ = 0;
    return;
  }
  const bool again = deadlocks_ > 1 && (limit_ != kNoLimit || well_ < kForgetAfter * calm_);
  calm_ = again ? std::min(calm_ * 2, kLongestCalm) : kFirstCalm;
  before_wait_ = conflict == Conflict::kLongWait ? limit_ : 0;
  limit_ = 1;
  well_ = 0;
}

void TransactionLimit::met_stranger() {
  const system::MutexLock lock(mutex_);
  if (before_wait_ == 0) return;
  limit_ = before_wait_;
  before_wait_ = 0;
  left_.notify_all();
}

void TransactionLimit::cannot_be_alone() {
  const system::MutexLock lock(mutex_);
  alone_works_ = false;
}

milliseconds TransactionLimit::row_patience() const {
  const system::MutexLock lock(mutex_);
  const auto many = std::chrono::duration_cast<milliseconds>(kTypicalTimes * typical_);
  return std::clamp(many, kShortestPatience, kLongestPatience);
}

std::size_t TransactionLimit::limit() const {
  const system::MutexLock lock(mutex_);
  return limit_;
}

std::uint64_t TransactionLimit::deadlocks() const {
  const system::MutexLock lock(mutex_);
  return deadlocks_;
}

void TransactionLimit::note_time(nanoseconds took) {
  const system::MutexLock lock(mutex_);
  typical_ = typical_.count() == 0 ? took : typical_ + (took - typical_) / kNewest;
}

void TransactionLimit::Place::went_well(nanoseconds took) noexcept {
  well_ = true;
  limit_.note_time(took);
}

bool TransactionLimit::Place::disturbed() const { return limit_.deadlocks() != deadlocks_; }

}  // namespace semel::strategies
