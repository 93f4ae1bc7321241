// HandlerStatements: the user's statements, as PostgreSQL takes them and answers them.
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
  // `?` becomes $1, $2 … What would end the transaction, or writes where only the store may, is
  // refused here once more: the server itself would do it.
  Result<const std::string*> of(const Statement& statement);
  // Empty; for one statement at a time. A batch has hundreds.
  WireParams& params() noexcept {
    params_.clear();
    return params_;
  }
  Constraints& constraints() noexcept { return constraints_; }
  std::size_t size() const noexcept { return texts_.size(); }

  // More texts are not remembered at a time.
  static constexpr std::size_t kMost = sql::kMostTexts;

 private:
  struct Known {
    std::string text;
    std::optional<Error> refused;
  };
  using Texts = std::unordered_map<std::string, Known>;
  const Known& known(const Statement& statement);

  Texts texts_;
  const Texts::value_type* last_ = nullptr;  // that was asked for: most batches have few
  WireParams params_;
  Constraints constraints_;
};

// Interprets a result; a rule for a violation is the caller's to apply. Throws Failure if the store
// or another transaction is at fault.
std::variant<sql::Ran, sql::Broke> judge(const PGresult* result, bool returns_rows);
// Sends a recorded statement. The server finds the types of its values, as it does for literals.
// Nothing is sent, and why is returned, where that cannot be done.
std::optional<sql::Broke> send(Pipe& pipe, HandlerTexts& texts, const RecordedStatement& recorded,
                               bool text_rows);

// As PostgreSQL's advisory locks are named: half of it. Two names that are one there wait for each
// other, and no more.
std::int64_t number_of(const LockName& name) noexcept;

Rows rows_of(const PGresult* result);
// Throws Failure where it is no COMMIT that went well: the server ends a transaction that has
// failed without a word of error.
void need_commit(const PGresult* result);

// On an error PostgreSQL refuses all that follows until it goes back to a mark (savepoint).
class HandlerWire final : public sql::HandlerWire {
 public:
  // `end`: what Mark::kCommit sends; it outlives this. `names_blocked`: as in UnitOptions.
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
    std::optional<sql::Mark> back = {};  // to where an error of it can be undone
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
  bool commits_ = false;           // behind them
  std::optional<sql::Mark> back_;  // to the newest mark
  std::vector<Rules> rules_;       // of all that was sent, each once
};

}  // namespace semel::postgres
