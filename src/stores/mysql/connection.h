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

struct Place {
  Target target;
  // The server's clock, as an expression: when the statement began.
  std::string clock = "NOW(6)";
  std::chrono::milliseconds patience{5'000};  // with locks
  // Nothing is waited for any more when one of them is readable.
  system::Deadline::Stops stops = system::Deadline::kNoStops;
  // How long a statement of ours may take. A handler's may take as long as its timeout.
  std::chrono::milliseconds longest_answer = std::chrono::minutes(5);
};

class Connection final : public sql::Session {
 public:
  explicit Connection(const Place& place);
  // Over another's connection: a transaction is then a part of the one that is open there.
  Connection(const Place& place, st_mysql* borrowed);

  sql::Answer ask(const sql::Text& text, std::initializer_list<sql::Param> params) override;
  void queue(const sql::Text& text, std::initializer_list<sql::Param> params) override;
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

  // The same with a text of its own, in the server's own words.
  sql::Answer ask(const std::string& own);
  void queue(const std::string& own) { wire_.send(own, loss(), deadline()); }
  // As commit, with the answers to all that was queued before; the last is the commit's.
  std::vector<Said> commit_all();
  // Runs what was queued, and gives the answers to all of it; throws what was refused.
  std::vector<Said> run();

  // A transaction that may only look.
  void begin_look();
  // Outside of transactions. Throws kBlocked where another session has the group's lock for long.
  void lock_group(const LockName& group);
  // At the latest it is free once the session ends.
  void free_group(const LockName& group) noexcept;
  // Queues what draws a number; its answer has it. Each number stands for kNumbers, which follow
  // it times kNumbers.
  static constexpr std::int64_t kNumbers = 1 << 16;
  void draw();
  static std::int64_t drawn(const Said& said) noexcept { return said.number * kNumbers; }

  bool borrowed() const noexcept override { return wire_.borrowed(); }
  Literals literals() const noexcept { return wire_.literals(); }
  // Of a borrowed one. Throws where its owner has no transaction open. Where his session commits
  // nothing by itself, one always is.
  void need_transaction() const;
  // Queues what makes the session wait for locks as long, until the next transaction begins. How
  // long its owner waits for locks is its owner's to say.
  void wait_for(std::chrono::milliseconds patience);
  // Runs what is queued. It is its owner's then until the next call.
  void hand_back();

  Wire& wire() noexcept { return wire_; }
  HandlerTexts& handler_texts() noexcept { return handler_texts_; }
  // The mark of its part in its owner's transaction; empty: there is none.
  const std::string& mark() const noexcept { return mark_; }

 private:
  system::Deadline deadline() const noexcept;
  // Outside of a transaction each statement commits by itself.
  Loss loss() const noexcept { return open_ ? Loss::kNothingDone : Loss::kInDoubt; }

  void begin_inside();
  void back_to(const std::string& mark);

  const Place& place_;
  Wire wire_;
  HandlerTexts handler_texts_;
  bool open_ = false;       // a transaction
  std::string mark_;        // in its owner's, where it is borrowed; else empty
  std::int64_t waits_ = 0;  // seconds, as the session has them
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
