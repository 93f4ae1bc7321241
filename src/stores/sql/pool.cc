#include "stores/sql/pool.h"

namespace semel::sql {

std::unique_ptr<Session> Pool::lend() {
  {
    const system::MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto session = std::move(idle_.back());
      idle_.pop_back();
      return session;
    }
  }
  return connect_();
}

void Pool::give_back(std::unique_ptr<Session> session) noexcept {
  if (!session->whole()) return;
  const system::MutexLock lock(mutex_);
  if (idle_.size() < kept_) idle_.push_back(std::move(session));
}

}  // namespace semel::sql
