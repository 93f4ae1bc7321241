// HandlerStatements: sends the user's statements to PostgreSQL and reads its answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/postgres/constraints.h"
#include "stores/postgres/pipe.h"
#include "stores/sql/handler_wire.h"

namespace semel::postgres {

// The statements' texts.
class HandlerTexts {
 public:
  // `?` becomes $1, $2 … Statements that would end the transaction, or write where only the store
  // may, are refused here again: the server itself would execute them.
  Result<const std::string*> of(const Statement& statement);
  // Emptied; for one statement at a time. Reused, since a batch has hundreds.
  WireParams& params() noexcept {
    params_.clear();
    return params_;
  }
  Constraints& constraints() noexcept { return constraints_; }
  std::size_t size() const noexcept { return texts_.size(); }

  // The most texts remembered at a time.
  static constexpr std::size_t kMost = sql::kMostTexts;

 private:
  struct Known {
    std::string text;
    std::optional<Error> refused;
  };
  using Texts = std::unordered_map<std::string, Known>;
  const Known& known(const Statement& statement);

  Texts texts_;
  const Texts::value_type* last_ = nullptr;  // the last one asked for: most batches use few
  WireParams params_;
  Constraints constraints_;
};

// Interprets a result; the caller applies the rules for violations. Throws Failure if the store or
// another transaction is at fault.
std::variant<sql::Ran, sql::Broke> judge(const PGresult* result, bool returns_rows);
// Sends a recorded statement. The server infers the types of its values, as for literals. Where the
// statement cannot be sent, sends nothing and returns why.
std::optional<sql::Broke> send(Pipe& pipe, HandlerTexts& texts, const RecordedStatement& recorded,
                               bool text_rows);

// The name as PostgreSQL's advisory locks take it: half of it. Two names with the same half wait
// for each other, which is harmless.
std::int64_t number_of(const LockName& name) noexcept;

Rows rows_of(const PGresult* result);
// Throws Failure unless it is a successful COMMIT: the server rolls back a failed transaction
// without an error.
void need_commit(const PGresult* result);

// After an error PostgreSQL refuses every statement until it returns to a savepoint.
class HandlerWire final : public sql::HandlerWire {
 public:
  // `end`: the statement for Mark::kCommit; outlives this. `names_blocked`: as in UnitOptions.
  HandlerWire(Pipe& pipe, HandlerTexts& texts, const std::string& end, bool names_blocked)
      : pipe_(pipe), texts_(texts), end_(end), names_blocked_(names_blocked) {}

  void send(sql::Mark mark) override;
  bool checks_deferred() const noexcept override { return true; }
  std::optional<sql::Broke> send(const RecordedStatement& statement, bool with_rows) override;
  std::vector<sql::Told> run() override;

 private:
  using Rules = std::shared_ptr<const std::vector<UniqueRule>>;
  struct Sent {
    const RecordedStatement* statement = nullptr;  // null: a mark, or a lock
    bool with_rows = false;
    bool lock = false;
    bool check = false;                  // Mark::kCheck
    std::optional<sql::Mark> back = {};  // the savepoint at which an error of it can be undone
  };

  void send(const LockName& name);
  // Interprets the answer to a sent statement, or to the lock before it.
  sql::Told told_of(const Sent& sent, const PGresult* result) const;
  const UniqueRule* rule_in(const Sent& sent, const PGresult* result);
  const UniqueRule* rule_for(const Rules& rules, const Sent& sent, const PGresult* result);

  Pipe& pipe_;
  HandlerTexts& texts_;
  const std::string& end_;
  const bool names_blocked_;
  std::vector<Sent> sent_;
  bool commits_ = false;           // the sent statements end with a commit
  std::optional<sql::Mark> back_;  // the newest savepoint
  std::vector<Rules> rules_;       // of all sent statements, each once
};

}  // namespace semel::postgres
