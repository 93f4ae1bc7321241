// Pool and Work: who uses which session, and one transaction on it.
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

// Sessions that are open, lent to one user at a time. Any thread.
class Pool {
 public:
  using Connect = std::function<std::unique_ptr<Session>()>;  // throws Failure
  // `kept`: idle sessions that stay open. `patience`: with locks, where nothing else is said.
  Pool(Connect connect, std::size_t kept, std::chrono::milliseconds patience)
      : connect_(std::move(connect)), kept_(kept), patience_(patience) {}

  std::unique_ptr<Session> lend() SEMEL_EXCLUDES(mutex_);
  // One that is not whole is closed.
  void give_back(std::unique_ptr<Session> session) noexcept SEMEL_EXCLUDES(mutex_);
  std::chrono::milliseconds patience() const noexcept { return patience_; }

 private:
  const Connect connect_;
  const std::size_t kept_;
  const std::chrono::milliseconds patience_;
  system::Mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_ SEMEL_GUARDED_BY(mutex_);
};

// A session for statements that each commit by themselves.
class Lent {
 public:
  explicit Lent(Pool& pool) : pool_(pool), session_(pool.lend()) {}
  ~Lent() { pool_.give_back(std::move(session_)); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  Session& operator*() noexcept { return *session_; }
  Session* operator->() noexcept { return session_.get(); }

 private:
  Pool& pool_;
  std::unique_ptr<Session> session_;
};

// One transaction; rolled back unless it was committed.
class Work {
 public:
  explicit Work(Pool& pool) : Work(pool, pool.patience()) {}
  Work(Pool& pool, std::chrono::milliseconds patience) : lent_(pool) { lent_->begin(patience); }
  ~Work() {
    if (!committed_) lent_->roll_back();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  Session& session() noexcept { return *lent_; }
  // The server's clock, read once, when it is first asked for.
  StoreTime now() {
    if (!now_) now_ = lent_->now();
    return *now_;
  }
  void commit() {
    lent_->commit();
    committed_ = true;
  }

 private:
  Lent lent_;
  std::optional<StoreTime> now_;
  bool committed_ = false;
};

}  // namespace semel::sql
