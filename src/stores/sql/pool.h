// Pool and Work: lends sessions, and one transaction on a session.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stores/sql/session.h"
#include "system/mutex.h"

namespace semel::sql {

// R254, with the number of sessions that this process wants and, where known, has.
Failure with_wanted(const Failure& failed, std::size_t wanted,
                    std::optional<std::size_t> open = std::nullopt);

// Open sessions, lent to one user at a time. Thread-safe. Opens sessions without a lock held.
class Pool {
 public:
  using Connect = std::function<std::unique_ptr<Session>()>;  // throws Failure
  // `kept`: idle sessions that stay open. `patience`: the default lock wait.
  Pool(Connect connect, std::size_t kept, std::chrono::milliseconds patience)
      : connect_(std::move(connect)), kept_(kept), patience_(patience) {}

  // Where the server gives no more of them (R254) it fails; for a while after that it lends only
  // the open ones, and waits for them.
  std::unique_ptr<Session> lend() SEMEL_EXCLUDES(mutex_);
  // A session that is not whole is closed. With one that is outdated, so are the idle ones that are
  // not young: they are at the same server.
  void give_back(std::unique_ptr<Session> session) noexcept SEMEL_EXCLUDES(mutex_);
  std::chrono::milliseconds patience() const noexcept { return patience_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool must_wait() const SEMEL_REQUIRES(mutex_) {
    return idle_.empty() && shortage_ && Clock::now() < shortage_until_;
  }
  // Null where there is none.
  std::unique_ptr<Session> take_idle() SEMEL_EXCLUDES(mutex_);
  std::unique_ptr<Session> take_old() SEMEL_EXCLUDES(mutex_);
  std::unique_ptr<Session> connect() SEMEL_EXCLUDES(mutex_);

  const Connect connect_;
  const std::size_t kept_;
  const std::chrono::milliseconds patience_;
  system::Mutex mutex_;
  system::CondVar returned_;
  std::vector<std::unique_ptr<Session>> idle_ SEMEL_GUARDED_BY(mutex_);
  std::size_t lent_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::optional<Failure> shortage_ SEMEL_GUARDED_BY(mutex_);
  Clock::time_point shortage_until_ SEMEL_GUARDED_BY(mutex_);
};

// A session for statements that each commit by themselves.
class PooledSession {
 public:
  explicit PooledSession(Pool& pool) : pool_(pool), session_(pool.lend()) {}
  ~PooledSession() { pool_.give_back(std::move(session_)); }
  PooledSession(const PooledSession&) = delete;
  PooledSession& operator=(const PooledSession&) = delete;

  Session& operator*() noexcept { return *session_; }
  Session* operator->() noexcept { return session_.get(); }

 private:
  Pool& pool_;
  std::unique_ptr<Session> session_;
};

// One transaction; rolled back unless it was committed.
class ScopedTransaction {
 public:
  explicit ScopedTransaction(Pool& pool) : ScopedTransaction(pool, pool.patience()) {}
  ScopedTransaction(Pool& pool, std::chrono::milliseconds patience) : lent_(pool) {
    lent_->begin(patience);
  }
  ~ScopedTransaction() {
    if (!committed_) lent_->roll_back();
  }
  ScopedTransaction(const ScopedTransaction&) = delete;
  ScopedTransaction& operator=(const ScopedTransaction&) = delete;

  Session& session() noexcept { return *lent_; }
  // The server's clock, read once, by the first call.
  StoreTime now() {
    if (!now_) now_ = lent_->now();
    return *now_;
  }
  void commit() {
    lent_->commit();
    committed_ = true;
  }

 private:
  PooledSession lent_;
  std::optional<StoreTime> now_;
  bool committed_ = false;
};

}  // namespace semel::sql
