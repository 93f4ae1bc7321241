// Pool and Lent: who uses which connection.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "stores/redis/wire.h"
#include "system/mutex.h"

namespace semel::redis {

// Connections that are open, lent to one user at a time. Any thread.
class Pool {
 public:
  using Connect = std::function<std::unique_ptr<Wire>()>;  // throws core::Failure
  // `kept`: idle connections that stay open.
  Pool(Connect connect, std::size_t kept) : connect_(std::move(connect)), kept_(kept) {}

  // One that the server has ended meanwhile is not given: what is asked on it would be in doubt.
  std::unique_ptr<Wire> lend();
  void give_back(std::unique_ptr<Wire> wire) noexcept SEMEL_EXCLUDES(mutex_);

 private:
  std::unique_ptr<Wire> idle() SEMEL_EXCLUDES(mutex_);

  const Connect connect_;
  const std::size_t kept_;
  system::Mutex mutex_;
  std::vector<std::unique_ptr<Wire>> idle_ SEMEL_GUARDED_BY(mutex_);
};

class Lent {
 public:
  explicit Lent(Pool& pool) : pool_(pool), wire_(pool.lend()) {}
  ~Lent() { pool_.give_back(std::move(wire_)); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  Wire& operator*() noexcept { return *wire_; }
  Wire* operator->() noexcept { return wire_.get(); }

 private:
  Pool& pool_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace semel::redis
