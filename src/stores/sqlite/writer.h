// Writer: the only connection of this process that writes, and its turns.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <semel/environment.h>
#include <semel/sqlite.h>

#include "stores/sqlite/claims.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/fair_lock.h"
#include "stores/sqlite/finish_writer.h"
#include "stores/sqlite/statement_run.h"
#include "stores/sqlite/store_clock.h"
#include "stores/sqlite/tables.h"
#include "stores/sqlite/writer_queue.h"

namespace semel::sqlite {

class Writer {
 public:
  Writer(const ConnectionOptions& options, std::size_t generation_rows, Environment& environment,
         StoreClock& clock);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Takes the turn among the threads of this process, and then among the processes; no transaction.
  // Throws kBlocked (R206) naming the holder.
  void take_turn(std::chrono::milliseconds patience);
  void leave_turn() noexcept;

  Connection& connection() noexcept { return connection_; }
  Tables& tables() noexcept { return tables_; }
  UnitClaims& unit_claims() noexcept { return unit_claims_; }
  LeaseClaims& lease_claims() noexcept { return lease_claims_; }
  FinishWriter& finish_writer() noexcept { return finish_writer_; }
  StatementRun& statements() noexcept { return statements_; }
  Environment& environment() noexcept { return environment_; }
  StoreClock& clock() noexcept { return clock_; }

  // Called after each commit with the pages in the log, while the turn is held.
  void on_commit(std::function<void(int pages)> told);

 private:
  friend class WriteTransaction;
  static int wal_grew(void* self, sqlite3* connection, const char* database, int pages) noexcept;
  [[noreturn]] void blocked() const;

  Environment& environment_;
  StoreClock& clock_;
  FairLock lock_;
  Connection connection_;
  WriterQueue writer_queue_;
  Tables tables_;
  UnitClaims unit_claims_;
  LeaseClaims lease_claims_;
  FinishWriter finish_writer_;
  StatementRun statements_;
  Prepared begin_;
  Prepared commit_;
  std::function<void(int)> told_;
};

// A write transaction: begun by the constructor, rolled back unless it was committed.
class WriteTransaction {
 public:
  // Throws Failure. kBlocked where the lock was not free in time.
  WriteTransaction(Writer& writer, Sync sync, std::chrono::milliseconds patience);
  ~WriteTransaction();
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  Tables& tables() noexcept { return writer_.tables_; }
  Writer& writer() noexcept { return writer_; }
  // The store's time, read now.
  StoreTime now() noexcept { return writer_.clock_.now(); }
  // Throws Failure; then nothing was committed.
  void commit() {
    commit([] {});
  }
  // The same; `then` runs before another thread or process has the turn. It must not throw.
  template <class Then>
  void commit(Then&& then) {
    write();
    then();
    let_go();
  }
  // Ends it early; nothing is committed.
  void roll_back() noexcept;

 private:
  void write();
  void let_go() noexcept;

  Writer& writer_;
  bool open_ = true;
};

}  // namespace semel::sqlite
