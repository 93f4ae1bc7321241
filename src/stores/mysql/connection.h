// Connection: a session on a MariaDB or MySQL server.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "stores/mysql/dialect.h"
#include "stores/mysql/handler_statements.h"
#include "stores/mysql/wire.h"
#include "stores/sql/session.h"
#include "system/deadline.h"

namespace semel::mysql {

struct Endpoint {
  Target target;
  // The server's clock, as an expression: when the statement began.
  std::string clock = "NOW(6)";
  std::chrono::milliseconds patience{5'000};  // for locks
  // Waits end when one of these descriptors is readable.
  system::Deadline::Stops stops = system::Deadline::kNoStops;
  // How long one of our own statements may take. A handler's may take as long as its timeout.
  std::chrono::milliseconds longest_answer = std::chrono::minutes(5);
};

class Connection final : public sql::Session {
 public:
  explicit Connection(const Endpoint& endpoint);
  // Over a borrowed connection: a transaction is then a part of the one that is open there.
  Connection(const Endpoint& endpoint, st_mysql* borrowed);

  sql::Answer ask(const sql::SqlText& text, std::initializer_list<sql::Param> params) override;
  void queue(const sql::SqlText& text, std::initializer_list<sql::Param> params) override;
  std::int64_t next_number(sql::Counter counter) override;
  StoreTime now() override;
  void begin(std::chrono::milliseconds patience) override;
  void commit() override;
  void note_commit() noexcept override {
    open_ = false;
    mark_.clear();
  }
  void roll_back() noexcept override;
  bool whole() const noexcept override { return wire_.whole(); }
  bool refuses_writes() const noexcept override { return wire_.refuses_writes(); }

  // The same with a text in the server's own dialect.
  sql::Answer ask(const std::string& own);
  void queue(const std::string& own) { wire_.send(own, loss(), deadline()); }
  // As commit, with the answers to all statements queued before; the last is the commit's.
  std::vector<Said> commit_all();
  // Runs the queued statements, and returns all their answers; throws a refusal.
  std::vector<Said> run();

  // Begins a read-only transaction.
  void begin_look();
  // Call it outside of transactions. Throws kBlocked where another session has the group's lock for
  // long.
  void lock_group(const LockName& group);
  // The lock is free at the latest when the session ends.
  void free_group(const LockName& group) noexcept;
  // Queues the statement that draws a number; its answer has it. Each drawn number n reserves
  // kNumbers numbers, from n * kNumbers on.
  static constexpr std::int64_t kNumbers = 1 << 16;
  void draw();
  static std::int64_t drawn(const Said& said) noexcept { return said.number * kNumbers; }

  bool borrowed() const noexcept override { return wire_.borrowed(); }
  Literals literals() const noexcept { return wire_.literals(); }
  // For a borrowed connection. Throws where its owner has no transaction open. With autocommit off
  // one always is.
  void need_transaction() const;
  // Queues a lock wait timeout for the session, valid until the next transaction begins. Not on a
  // borrowed connection, whose owner sets it.
  void wait_for(std::chrono::milliseconds patience);
  // Runs the queued statements. Until the next call the connection is then its owner's.
  void hand_back();

  Wire& wire() noexcept { return wire_; }
  HandlerTexts& handler_texts() noexcept { return handler_texts_; }
  // The savepoint of our part in its owner's transaction; empty: none.
  const std::string& mark() const noexcept { return mark_; }

 private:
  system::Deadline deadline() const noexcept;
  // Outside of a transaction each statement commits by itself.
  Loss loss() const noexcept { return open_ ? Loss::kNothingDone : Loss::kInDoubt; }

  void begin_inside();
  void back_to(const std::string& mark);

  const Endpoint& endpoint_;
  Wire wire_;
  HandlerTexts handler_texts_;
  bool open_ = false;       // a transaction
  std::string mark_;        // the savepoint on a borrowed connection; else empty
  std::int64_t waits_ = 0;  // seconds, as set in the session
  // Numbers that were drawn.
  struct Numbers {
    std::int64_t next = 0;
    std::int64_t end = 0;
    void forget() noexcept { end = next; }
  };
  Numbers held_numbers_;
  Numbers inbox_numbers_;
};

}  // namespace semel::mysql
