// Session: one connection to a database server.
#pragma once

#include <chrono>

#include "stores/sql/numbers.h"
#include "stores/sql/session_age.h"
#include "stores/sql/statements.h"

namespace semel::sql {

class Session : public Statements, public Numbers {
 public:
  explicit Session(SessionAge age = SessionAge()) noexcept : age_(age) {}

  // The server's clock, read anew. Only it decides what expires.
  virtual StoreTime now() = 0;

  // Begins a transaction at READ COMMITTED. Waits for locks for up to `patience`, then kBlocked.
  virtual void begin(std::chrono::milliseconds patience) = 0;
  // kInDoubt where the answer was lost.
  virtual void commit() = 0;
  // The transaction belongs to the caller, who continues it after commit.
  virtual bool borrowed() const noexcept = 0;
  // A commit sent outside of this session's methods ended the transaction.
  virtual void note_commit() noexcept = 0;
  // Ends a transaction, if one is open. Never throws: if it fails, the session is no longer whole.
  virtual void roll_back() noexcept = 0;
  // Whether it can be used again.
  virtual bool whole() const noexcept = 0;
  // The server refused a write because the server itself only reads. A write in a transaction that
  // was begun for a look does not count.
  virtual bool refuses_writes() const noexcept { return false; }
  // Its server only reads, and a new session may find one that takes writes.
  bool outdated() const noexcept { return refuses_writes() && !age_.young(); }
  SessionAge age() const noexcept { return age_; }

  // The instance whose lock it shares (Instances::number_for); zero: none.
  std::int64_t stands_for() const noexcept { return stands_for_; }
  void stand_for(std::int64_t instance) noexcept { stands_for_ = instance; }

 private:
  const SessionAge age_;
  std::int64_t stands_for_ = 0;
};

}  // namespace semel::sql
