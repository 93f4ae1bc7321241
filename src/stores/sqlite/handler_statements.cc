#include "stores/sqlite/handler_statements.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "base/decimal.h"
#include "core/statement_text.h"
#include "stores/sql/handler_wire.h"
#include "stores/sqlite/error_table.h"
#include "stores/sqlite/statement_rows.h"
#include "stores/sqlite/unique_names.h"

namespace semel::sqlite {
namespace {

template <class... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overload(Ts...) -> Overload<Ts...>;

// SQLITE_MISMATCH where it would be rounded.
int bind(sqlite3_stmt* statement, int at, const Decimal& number) {
  if (const auto whole = decimal::exact_integer(number.text)) {
    return sqlite3_bind_int64(statement, at, *whole);
  }
  const auto real = decimal::exact_double(number.text);
  return real ? sqlite3_bind_double(statement, at, *real) : SQLITE_MISMATCH;
}

int bind(sqlite3_stmt* statement, int at, const Value& value) {
  return std::visit(Overload{
                        [&](const Null&) { return sqlite3_bind_null(statement, at); },
                        [&](std::int64_t n) { return sqlite3_bind_int64(statement, at, n); },
                        [&](double d) { return sqlite3_bind_double(statement, at, d); },
                        [&](const std::string& text) {
                          return sqlite3_bind_text64(statement, at, text.data(), text.size(),
                                                     SQLITE_STATIC, SQLITE_UTF8);
                        },
                        [&](const Blob& blob) {
                          return sqlite3_bind_blob64(statement, at, blob.bytes.data(),
                                                     blob.bytes.size(), SQLITE_STATIC);
                        },
                        [&](const Decimal& number) { return bind(statement, at, number); },
                    },
                    value);
}

HandlerStatements::Broke rounded(const Decimal& number) {
  constexpr std::size_t kShown = 80;
  return {"constraint",
          {ErrorKind::kRejected, "handler.sql.constraint",
           fmt::format("SQLite would round the number {}", number.text.substr(0, kShown)),
           "give it as a text, or as a double"},
          false,
          nullptr};
}

}  // namespace

HandlerStatements::~HandlerStatements() { clear(); }

void HandlerStatements::clear() noexcept {
  for (const auto& [sql, statement] : compiled_) sqlite3_finalize(statement);
  compiled_.clear();
  last_.reset();
  last_compiled_ = nullptr;
}

sqlite3_stmt* HandlerStatements::compiled(const RecordedStatement& recorded) {
  if (recorded.statement == last_) return last_compiled_;
  const std::string& sql = recorded.statement->sql;
  auto known = compiled_.find(sql);
  if (known == compiled_.end()) {
    if (compiled_.size() >= sql::kMostTexts) clear();
    known = compiled_.emplace(sql, connection_.prepare(sql)).first;
  }
  last_ = recorded.statement;
  last_compiled_ = known->second;
  return last_compiled_;
}

HandlerStatements::Broke HandlerStatements::broke(int code, bool partly_done) const {
  const Failure failed = connection_.failure_now(code);
  if (is_store_failure(failed.code())) throw Failure(failed);
  Broke broke;
  broke.sql_class = sql_class_of(failed.code());
  broke.partly_done = partly_done;
  const char* const said = sqlite3_errmsg(connection_.handle());
  // An error of the statement, not of the file: it is the handler's own.
  broke.error = {ErrorKind::kRejected,
                 "handler.sql." + broke.sql_class,
                 said,
                 {},
                 remedy_of(failed.code(), Met::kRunning)};
  return broke;
}

std::variant<HandlerStatements::Ran, HandlerStatements::Broke> HandlerStatements::run(
    const RecordedStatement& recorded, Rows* rows) {
  auto went = run_as_handler(recorded, rows);
  auto* const broke = std::get_if<Broke>(&went);
  const auto* const rules = recorded.unique_rules.get();
  if (broke != nullptr && rules != nullptr && !rules->empty()) {
    broke->rule = rule_for(*rules, broke->error.message, connection_);
  }
  if (broke != nullptr) {
    core::name_statement(broke->error, core::written_text(*recorded.statement));
  }
  return went;
}

std::variant<HandlerStatements::Ran, HandlerStatements::Broke> HandlerStatements::run_as_handler(
    const RecordedStatement& recorded, Rows* rows) {
  const Connection::HandlerRights rights(connection_);
  sqlite3* const handle = connection_.handle();
  sqlite3_stmt* statement = nullptr;
  try {
    statement = compiled(recorded);
  } catch (const Failure& failed) {
    if (is_store_failure(failed.code())) throw;
    return Broke{std::string(sql_class_of(failed.code())),
                 {ErrorKind::kRejected,
                  "handler.sql." + std::string(sql_class_of(failed.code())),
                  sqlite3_errmsg(handle),
                  {},
                  remedy_of(failed.code(), Met::kCompiling)},
                 false,
                 nullptr};
  }
  if (statement == nullptr ||
      static_cast<std::size_t>(sqlite3_bind_parameter_count(statement)) != recorded.values.size()) {
    return Broke{"syntax",
                 {ErrorKind::kRejected,
                  "handler.sql.syntax",
                  "the values given are not as many as the placeholders",
                  {}},
                 false,
                 nullptr};
  }
  int at = 0;
  for (const Value& value : recorded.values) {
    const int code = bind(statement, ++at, value);
    if (code == SQLITE_MISMATCH) return rounded(std::get<Decimal>(value));
    if (code != SQLITE_OK) return broke(code, false);
  }
  const std::int64_t before = sqlite3_total_changes64(handle);
  Ran ran;
  int code = sqlite3_step(statement);
  // Only now: where a table has changed, the first step has compiled the statement again.
  if (rows != nullptr) take_columns(statement, *rows);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
    ++ran.rows;
    if (rows != nullptr) take_row(statement, *rows);
  }
  if (code != SQLITE_DONE) {
    // OR FAIL keeps the changes that the statement made before it failed.
    const bool partly = sqlite3_total_changes64(handle) != before;
    struct Reset {
      sqlite3_stmt* statement;
      ~Reset() { sqlite3_reset(statement); }
    } const reset{statement};
    return broke(code, partly);
  }
  sqlite3_reset(statement);
  if (!recorded.statement->returns_rows) ran.rows = sqlite3_changes64(handle);
  return ran;
}

}  // namespace semel::sqlite
