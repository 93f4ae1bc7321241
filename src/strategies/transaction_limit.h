// TransactionLimit: how many transactions of a pipeline run at a time.
//
// Transactions that change the same few rows deadlock: each has locked a row that another one
// needs. If messages lock several rows each, no order of the messages prevents it, and each
// deadlock costs the undone work and the time until the server notices. So after a deadlock
// transactions run alone, where the store supports it also without those of other processes; after
// many successes two run at a time, then four, and so on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <semel/environment.h>

#include "system/mutex.h"

namespace semel::strategies {

// Thread-safe.
class TransactionLimit {
 public:
  // A transaction's place, which is given back at its end.
  class [[nodiscard]] Place {
   public:
    Place(TransactionLimit& limit, bool alone, std::uint64_t deadlocks)
        : limit_(limit), alone_(alone), deadlocks_(deadlocks) {}
    ~Place() { limit_.leave(confirmed_, well_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Whether no other transaction of the consumer may run meanwhile, in any process.
    bool alone() const noexcept { return alone_; }
    // The transaction was committed. `took`: since its begin.
    void went_well(std::chrono::nanoseconds took) noexcept;
    // It had waited long for a row, ran again alone, and succeeded: it was a deadlock.
    void confirms_deadlock() noexcept { confirmed_ = alone_; }
    // Whether others deadlocked meanwhile: it may have waited for them.
    bool disturbed() const;

   private:
    TransactionLimit& limit_;
    const bool alone_;
    const std::uint64_t deadlocks_;
    bool well_ = false;
    bool confirmed_ = false;
  };

  // Waits for a place.
  Place enter() SEMEL_EXCLUDES(mutex_);

  enum class Conflict {
    kDeadlock,
    kLongWait,  // for a row; it may be a deadlock that the server has not noticed yet
  };
  void met(Conflict conflict) SEMEL_EXCLUDES(mutex_);
  // A transaction that ran alone waited as long: another program has the row, and running alone
  // does not help.
  void met_stranger() SEMEL_EXCLUDES(mutex_);
  // Another process has a transaction that does not end.
  void cannot_be_alone() SEMEL_EXCLUDES(mutex_);

  // How long a transaction waits for a row before that counts as kLongWait: many times a typical
  // transaction, and less than PostgreSQL waits before it looks for a deadlock.
  std::chrono::milliseconds row_patience() const SEMEL_EXCLUDES(mutex_);
  // Transactions at a time; kNoLimit at first.
  std::size_t limit() const SEMEL_EXCLUDES(mutex_);
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

 private:
  void leave(bool confirmed, bool well) SEMEL_EXCLUDES(mutex_);
  void note_time(std::chrono::nanoseconds took) SEMEL_EXCLUDES(mutex_);
  std::uint64_t deadlocks() const SEMEL_EXCLUDES(mutex_);

  // Transactions that must succeed before more may run at a time.
  static constexpr std::size_t kFirstCalm = 256;

  mutable system::Mutex mutex_;
  system::CondVar left_;
  std::size_t limit_ SEMEL_GUARDED_BY(mutex_) = kNoLimit;
  std::size_t running_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t well_ SEMEL_GUARDED_BY(mutex_) = 0;  // since the limit changed
  std::size_t calm_ SEMEL_GUARDED_BY(mutex_) = kFirstCalm;
  std::uint64_t deadlocks_ SEMEL_GUARDED_BY(mutex_) = 0;
  // The limit before a long wait that is not confirmed yet as a deadlock; zero: none.
  std::size_t before_wait_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool alone_works_ SEMEL_GUARDED_BY(mutex_) = true;
  std::chrono::nanoseconds typical_ SEMEL_GUARDED_BY(mutex_){0};  // of successes
};

}  // namespace semel::strategies
