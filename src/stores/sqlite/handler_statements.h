// HandlerStatements: statements of the users' handlers, compiled once and run one by one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include <semel/spi/recorded_statement.h>
#include <semel/spi/unit_of_work.h>

#include "stores/sqlite/connection.h"

namespace semel::sqlite {

class HandlerStatements {
 public:
  explicit HandlerStatements(Connection& connection) noexcept : connection_(connection) {}
  ~HandlerStatements();
  HandlerStatements(const HandlerStatements&) = delete;
  HandlerStatements& operator=(const HandlerStatements&) = delete;

  struct Ran {
    std::int64_t rows = 0;  // changed or returned
  };
  struct Broke {
    std::string sql_class;
    Error error;
    bool partly_done = false;          // the statement did not undo itself
    const UniqueRule* rule = nullptr;  // the rule that names the violated constraint
  };
  // Runs one statement; stores its rows in `rows` if that is given. Throws Failure where the store
  // itself failed: then no statement is at fault.
  std::variant<Ran, Broke> run(const RecordedStatement& recorded, Rows* rows);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::variant<Ran, Broke> run_as_handler(const RecordedStatement& recorded, Rows* rows);
  sqlite3_stmt* compiled(const RecordedStatement& recorded);
  void clear() noexcept;
  Broke broke(int code, bool partly_done) const;

  Connection& connection_;
  std::unordered_map<std::string, sqlite3_stmt*, Hash, std::equal_to<>> compiled_;
  // The last one used: a batch mostly runs the same few again and again.
  std::shared_ptr<const Statement> last_;
  sqlite3_stmt* last_compiled_ = nullptr;
};

}  // namespace semel::sqlite
