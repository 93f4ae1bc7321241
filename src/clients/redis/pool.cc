#include "clients/redis/pool.h"

#include <utility>

namespace semel::redis {

std::unique_ptr<Connection> Pool::idle() {
  const system::MutexLock lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

std::unique_ptr<Connection> Pool::lend(const Connect& connect) {
  while (auto connection = idle()) {
    if (connection->whole()) return connection;
  }
  return this->connect(connect);
}

std::unique_ptr<Connection> Pool::connect(const Connect& connect) {
  try {
    auto connection = connect();
    lost_ = false;
    return connection;
  } catch (...) {
    lost_ = true;
    throw;
  }
}

void Pool::give_back(std::unique_ptr<Connection> connection) noexcept {
  const bool whole = connection->whole();
  lost_ = !whole;
  std::vector<std::unique_ptr<Connection>> closed;
  const system::MutexLock lock(mutex_);
  if (!whole) {
    closed.swap(idle_);
  } else if (idle_.size() < kept_) {
    idle_.push_back(std::move(connection));
  }
}

}  // namespace semel::redis
