// Connection: a session on a PostgreSQL server.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/postgres/dialect.h"
#include "stores/postgres/handler_statements.h"
#include "stores/postgres/pipe.h"
#include "stores/sql/session.h"
#include "system/deadline.h"

namespace semel::postgres {

struct Endpoint {
  std::string url;     // as libpq takes it: postgresql://… or key=value pairs
  std::string schema;  // of Semel's tables
  // The server's clock, as an SQL expression.
  std::string clock = "clock_timestamp()";
  std::chrono::milliseconds patience{5'000};  // for locks
  // Waits end when one of these descriptors is readable.
  system::Deadline::Stops stops = system::Deadline::kNoStops;
};

// Texts that all sessions of one store share.
struct SessionTexts {
  SessionTexts(const Dialect& dialect, const std::string& clock);

  std::string begin, begin_look, commit, roll_back, patience, share_group, lock_group;
  std::string mark, release, back_to_mark;
  sql::SqlText now;
  std::string numbers[4];  // by Counter
};

class Connection final : public sql::Session {
 public:
  Connection(const Endpoint& endpoint, const Dialect& dialect, const SessionTexts& texts);
  // Over a borrowed connection, on which statements stay prepared if `prepares`. In its owner's
  // transaction, begin sets a savepoint, commit releases it, and roll_back returns to it.
  Connection(PGconn* borrowed, bool prepares, const Dialect& dialect, const SessionTexts& texts);

  sql::Answer ask(const sql::SqlText& text, std::initializer_list<sql::Param> params) override;
  void queue(const sql::SqlText& text, std::initializer_list<sql::Param> params) override;
  std::int64_t next_number(sql::Counter counter) override;
  StoreTime now() override;
  void begin(std::chrono::milliseconds patience) override;
  void commit() override;
  void note_commit() noexcept override { open_ = mark_ = false; }
  void roll_back() noexcept override;
  bool whole() const noexcept override { return pipe_.whole(); }
  bool refuses_writes() const noexcept override { return pipe_.refuses_writes(); }

  // The same with parameters that only PostgreSQL has.
  sql::Answer ask(const sql::SqlText& text, const WireParams& params);
  void queue(const sql::SqlText& text, const WireParams& params) { pipe_.send(text.sql(), params); }
  // The same, but planned for this call. A prepared statement keeps the plan of its first
  // executions, when tables may have been small: a join would scan tables that are large by now.
  sql::Answer ask_planned(const sql::SqlText& text, const WireParams& params);
  void queue_planned(const sql::SqlText& text, const WireParams& params) {
    pipe_.send_once(text.sql(), params);
  }
  // For a statement that is not worth preparing: `shared` as in a Text.
  sql::Answer ask_once(const std::string& shared, std::initializer_list<sql::Param> params = {});
  void queue_once(const std::string& shared, std::initializer_list<sql::Param> params = {});
  // Runs the queued statements; throws the first failure.
  void settle() { run(); }
  // The same, and returns all their results.
  std::vector<ResultPtr> run();

  // Begins a read-only transaction.
  void begin_look();
  // Sets the lock timeout until the transaction ends. Not on a borrowed connection, whose owner
  // sets it.
  void wait_for_locks(std::chrono::milliseconds patience);
  // Both exclude the other until the transaction ends, and are queued. kBlocked: the patience is
  // over.
  void share_group(const LockName& group);
  void lock_group(const LockName& group);

  bool borrowed() const noexcept override { return !pipe_.owned(); }
  // The end of a unit that succeeded.
  const std::string& end_of_unit() const noexcept {
    return borrowed() ? texts_.release : texts_.commit;
  }
  // The owner's transaction is open, and may still be undone.
  bool inside() const noexcept;
  Pipe& pipe() noexcept { return pipe_; }
  HandlerTexts& handler_texts() noexcept { return handler_texts_; }

 private:
  system::Deadline deadline() const noexcept;

  const Dialect& dialect_;
  const SessionTexts& texts_;
  const std::chrono::milliseconds usual_patience_;
  const system::Deadline::Stops stops_;
  HandlerTexts handler_texts_;
  Pipe pipe_;
  bool open_ = false;  // a transaction, or
  bool mark_ = false;  // a savepoint in its owner's
  struct Block {
    std::vector<std::int64_t> left;  // largest first
    std::size_t next_size = 1;
  };
  // Numbers grow with time: those that a transaction does not use are not kept for a later one.
  Block blocks_[4];
};

// Opens a connection and configures it, each within the URL's connect_timeout. Throws Failure: R254
// where a pooler accepts the connection but has no session for it.
PGconn* connect(const Endpoint& endpoint);
// The deadline for a statement, or another wait of a session, that is no handler's statement.
system::Deadline short_deadline(const Endpoint& endpoint) noexcept;

}  // namespace semel::postgres
