// A read-only unit: it reads committed data, and takes no lock.
#pragma once

#include <memory>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/sqlite/connection.h"
#include "stores/sqlite/handler_statements.h"
#include "system/mutex.h"

namespace semel::sqlite {

// Connections for reading, opened when needed and kept. Thread-safe; outlives its units.
class Looks {
 public:
  Looks(ConnectionOptions options, std::chrono::milliseconds patience);

  // Throws Failure.
  std::unique_ptr<UnitOfWork> begin();

 private:
  friend class LookUnit;
  struct Lent {
    explicit Lent(const ConnectionOptions& options) : connection(options), statements(connection) {}
    Connection connection;
    HandlerStatements statements;
  };
  std::unique_ptr<Lent> lend();
  void give_back(std::unique_ptr<Lent> lent) noexcept SEMEL_EXCLUDES(mutex_);

  const ConnectionOptions options_;
  const std::chrono::milliseconds patience_;
  system::Mutex mutex_;
  std::vector<std::unique_ptr<Lent>> idle_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::sqlite
