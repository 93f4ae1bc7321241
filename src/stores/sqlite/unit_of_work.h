// A unit of work over a transaction, ours or a caller's.
#pragma once

#include <memory>

#include <semel/spi/unit_of_work.h>

#include "stores/sqlite/claims.h"
#include "stores/sqlite/statement_run.h"

namespace semel::sqlite {

// The transaction a unit works in. Its destructor undoes what was not committed.
class UnitSession {
 public:
  virtual ~UnitSession() = default;
  UnitSession() = default;
  UnitSession(const UnitSession&) = delete;
  UnitSession& operator=(const UnitSession&) = delete;

  virtual UnitClaims& claims() noexcept = 0;
  virtual StatementRun& statements() noexcept = 0;
  virtual Tables& tables() noexcept = 0;
  virtual Environment& environment() noexcept = 0;
  virtual StoreTime now() noexcept = 0;
  // Throws Failure; then nothing was committed.
  virtual void commit() = 0;
  // Undoes everything and keeps the lock until the destructor.
  virtual void undo_all() = 0;
  virtual void roll_back() noexcept = 0;
};

std::unique_ptr<UnitOfWork> make_unit(std::unique_ptr<UnitSession> session,
                                      const UnitOptions& options);

}  // namespace semel::sqlite
