#include "stores/redis/pool.h"

#include <utility>

namespace semel::redis {

std::unique_ptr<Wire> Pool::idle() {
  const system::MutexLock lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto wire = std::move(idle_.back());
  idle_.pop_back();
  return wire;
}

std::unique_ptr<Wire> Pool::lend() {
  while (auto wire = idle()) {
    if (wire->whole()) return wire;
  }
  return connect_();
}

void Pool::give_back(std::unique_ptr<Wire> wire) noexcept {
  if (!wire->whole()) return;
  const system::MutexLock lock(mutex_);
  if (idle_.size() < kept_) idle_.push_back(std::move(wire));
}

}  // namespace semel::redis
