// Pool and PooledConnection: lend connections to their users.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "clients/redis/connection.h"
#include "system/mutex.h"

namespace semel::redis {

// Open connections, each lent to one user at a time. Thread-safe.
class Pool {
 public:
  using Connect = std::function<std::unique_ptr<Connection>()>;  // throws core::Failure
  // `kept`: the number of idle connections that stay open.
  Pool(Connect connect, std::size_t kept) : connect_(std::move(connect)), kept_(kept) {}

  // Never lends a connection that the server has ended: a command sent on it would be in doubt.
  std::unique_ptr<Connection> lend() { return lend(connect_); }
  // The same, but uses `connect` if no connection is idle.
  std::unique_ptr<Connection> lend(const Connect& connect);
  // If the connection was lost, the idle ones are closed too: they lead to the same server, and
  // each would be waited for in vain.
  void give_back(std::unique_ptr<Connection> connection) noexcept SEMEL_EXCLUDES(mutex_);
  // Whether the last attempt to reach the server failed.
  bool lost() const noexcept { return lost_; }

 private:
  std::unique_ptr<Connection> idle() SEMEL_EXCLUDES(mutex_);
  std::unique_ptr<Connection> connect(const Connect& connect);

  const Connect connect_;
  const std::size_t kept_;
  std::atomic<bool> lost_{false};
  system::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ SEMEL_GUARDED_BY(mutex_);
};

// A connection that returns to its pool on destruction.
class PooledConnection {
 public:
  explicit PooledConnection(Pool& pool) : pool_(pool), connection_(pool.lend()) {}
  PooledConnection(Pool& pool, const Pool::Connect& connect)
      : pool_(pool), connection_(pool.lend(connect)) {}
  ~PooledConnection() { pool_.give_back(std::move(connection_)); }
  PooledConnection(const PooledConnection&) = delete;
  PooledConnection& operator=(const PooledConnection&) = delete;

  Connection& operator*() noexcept { return *connection_; }
  Connection* operator->() noexcept { return connection_.get(); }

 private:
  Pool& pool_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace semel::redis
