// HandlerStatements: the user's statements, as PostgreSQL takes them and answers them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include <semel/unit_of_work.h>

#include "stores/postgres/pipe.h"

namespace semel::postgres {

// The statements' texts, kept for as long as the session: it knows them by their addresses.
class HandlerTexts {
 public:
  // `?` becomes $1, $2 … What would end the transaction, or writes where only the store may, is
  // refused here once more: the server itself would do it.
  Result<const std::string*> of(const Statement& statement);

  // Marks: of a flush, of a message that asks, and of one question.
  const std::string mark_flush = "SAVEPOINT semel_flush";
  const std::string back_to_flush = "ROLLBACK TO SAVEPOINT semel_flush";
  const std::string mark_message = "SAVEPOINT semel_message";
  const std::string back_to_message = "ROLLBACK TO SAVEPOINT semel_message";
  const std::string release_message = "RELEASE SAVEPOINT semel_message";
  const std::string mark_question = "SAVEPOINT semel_question";
  const std::string back_to_question = "ROLLBACK TO SAVEPOINT semel_question";
  const std::string release_question = "RELEASE SAVEPOINT semel_question";

 private:
  struct Known {
    std::string text;
    std::optional<Error> refused;
  };
  std::unordered_map<std::string, std::unique_ptr<Known>> texts_;
};

struct Ran {
  std::int64_t rows = 0;  // changed, or returned
};
struct Broke {
  std::string sql_class;
  Error error;
  const UniqueRule* rule = nullptr;  // the violation was named
};
// What a result means. Throws Failure where the store, or another transaction, is at fault.
std::variant<Ran, Broke> judge(const PGresult* result, const RecordedStatement& recorded);
// Sends a recorded statement. The server finds the types of its values, as it does for literals.
// Nothing is sent, and why is returned, where that cannot be done.
std::optional<Broke> send(Pipe& pipe, HandlerTexts& texts, const RecordedStatement& recorded,
                          bool text_rows);

Rows rows_of(const PGresult* result);

// The rule a violation of `constraint` falls under; `detail`: the server's, which names the
// columns.
const UniqueRule* rule_for(const std::vector<UniqueRule>* rules, std::string_view table,
                           std::string_view constraint, std::string_view detail);

}  // namespace semel::postgres
