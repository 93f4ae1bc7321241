#include "stores/sql/pool.h"

#include <fmt/format.h>

#include <algorithm>

namespace semel::sql {
namespace {

constexpr std::string_view kNoMoreSessions = "R254";
// Short: a stop does not interrupt this wait.
constexpr std::chrono::milliseconds kLongestWait{900};
// For this long after that, no other session is requested.
constexpr std::chrono::milliseconds kShortage{5'000};

}  // namespace

Failure with_wanted(const Failure& failed, std::size_t wanted, std::optional<std::size_t> open) {
  Error error = failed.error();
  error.message += open ? fmt::format("; this process has {} of the {} it wants", *open, wanted)
                        : fmt::format("; this process wants {}", wanted);
  error.message += ": as many as the pool, and one to be known by";
  return {std::move(error), failed.code()};
}

std::unique_ptr<Session> Pool::lend() {
  {
    const system::MutexLock lock(mutex_);
    if (lent_ > 0) {
      returned_.wait_for(mutex_, std::min(patience_, kLongestWait),
                         [this]() SEMEL_REQUIRES(mutex_) { return !must_wait(); });
    }
    if (must_wait()) throw Failure(*shortage_);
    ++lent_;
  }
  // Without the lock: closing a session may be slow.
  while (auto session = take_idle()) {
    // The server, or a proxy, may have ended it meanwhile.
    if (session->whole()) return session;
  }
  return connect();
}

std::unique_ptr<Session> Pool::take_idle() {
  const system::MutexLock lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto session = std::move(idle_.back());
  idle_.pop_back();
  return session;
}

// An idle one that is not young; null where there is none.
std::unique_ptr<Session> Pool::take_old() {
  const system::MutexLock lock(mutex_);
  const auto old =
      std::ranges::find_if(idle_, [](const auto& session) { return !session->age().young(); });
  if (old == idle_.end()) return nullptr;
  auto session = std::move(*old);
  idle_.erase(old);
  return session;
}

std::unique_ptr<Session> Pool::connect() {
  try {
    auto session = connect_();
    {
      const system::MutexLock lock(mutex_);
      shortage_.reset();
    }
    returned_.notify_all();
    return session;
  } catch (const Failure& failed) {
    const system::MutexLock lock(mutex_);
    --lent_;
    if (failed.error().code != kNoMoreSessions) throw;
    shortage_.emplace(with_wanted(failed, kept_ + 1, lent_ + idle_.size() + 1));
    shortage_until_ = Clock::now() + kShortage;
    throw Failure(*shortage_);
  } catch (...) {
    const system::MutexLock lock(mutex_);
    --lent_;
    throw;
  }
}

void Pool::give_back(std::unique_ptr<Session> session) noexcept {
  const bool outdated = session->outdated();
  const bool whole = !outdated && session->whole();
  if (!whole) session.reset();
  while (outdated && take_old() != nullptr) {
    // Closed, without the lock.
  }
  {
    const system::MutexLock lock(mutex_);
    --lent_;
    // A closed session leaves a free place.
    if (!whole) shortage_.reset();
    if (whole && idle_.size() < kept_) idle_.push_back(std::move(session));
  }
  returned_.notify_one();
}

}  // namespace semel::sql
