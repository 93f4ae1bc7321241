// Reader: the connection for reading. It never writes and never waits for a writer.
#pragma once

#include <chrono>
#include <type_traits>

#include "stores/sqlite/connection.h"
#include "stores/sqlite/tables.h"
#include "system/mutex.h"

namespace semel::sqlite {

// Thread-safe.
class Reader {
 public:
  Reader(const ConnectionOptions& options, std::chrono::milliseconds patience)
      : patience_(patience), connection_(options), tables_(connection_, 1) {}

  // Runs `work(tables, connection)` on one state of the store. Throws Failure.
  template <class Work>
  auto look(Work&& work) -> std::invoke_result_t<Work&, Tables&, Connection&> {
    const system::MutexLock lock(mutex_);
    connection_.set_patience(patience_);
    const Snapshot snapshot(connection_);
    tables_.begin();
    return work(tables_, connection_);
  }
  // The same for a single statement, which needs no transaction of its own.
  template <class Work>
  auto glance(Work&& work) -> std::invoke_result_t<Work&, Tables&, Connection&> {
    const system::MutexLock lock(mutex_);
    connection_.set_patience(patience_);
    return work(tables_, connection_);
  }

 private:
  class Snapshot {
   public:
    explicit Snapshot(Connection& connection) : connection_(connection) {
      connection_.execute("BEGIN");
    }
    ~Snapshot() { connection_.roll_back(); }
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

   private:
    Connection& connection_;
  };

  const std::chrono::milliseconds patience_;
  system::Mutex mutex_;
  Connection connection_ SEMEL_GUARDED_BY(mutex_);
  Tables tables_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::sqlite
