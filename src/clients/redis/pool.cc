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
  // Whether the server has ended it meanwhile is looked at when it is lent: once for each use.
  const bool sound = connection->sound();
  lost_ = !sound;
  std::vector<std::unique_ptr<Connection>> closed;
  const system::MutexLock lock(mutex_);
  if (!sound) {
    closed.swap(idle_);
  } else if (idle_.size() < kept_) {
    idle_.push_back(std::move(connection));
  }
}

}  // namespace semel::redis
