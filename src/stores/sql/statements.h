// Statements: one connection, as the shared tables use it.
//
// The statements of this folder are written once, for every database: values as ?1, ?2 …, our
// tables by their bare names, ON CONFLICT … DO UPDATE for an insert that may meet a row. An
// adapter's Dialect rewrites what its database spells differently, when a text is made. No
// statement here has a subquery on the table it changes, except through one in FROM with a LIMIT:
// MySQL cannot do that.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "stores/sql/answer.h"
#include "stores/sql/failure.h"
#include "stores/sql/param.h"

namespace semel::sql {

// One database's spelling of statements that all of them support.
class Dialect {
 public:
  virtual ~Dialect() = default;
  // `shared` with our tables' names and its clauses in the database's spelling.
  virtual std::string translated(std::string_view shared) const = 0;
  // Used in FROM for the few records that are not completed: a table or view with the columns of
  // semel_record, which may also contain completed ones.
  virtual std::string_view open_records() const noexcept { return "semel_record"; }
  // Where those are also in a list: the statement that adds ?1 to the list, if it is missing, and
  // the one that removes it. Empty where the table's own indexes find them.
  virtual std::string_view list_open() const noexcept { return {}; }
  virtual std::string_view unlist_open() const noexcept { return {}; }
};

// One of our statements. A connection identifies it by its address and prepares it at first use: so
// it lives as long as the store.
class SqlText {
 public:
  SqlText(const Dialect& dialect, std::string_view shared) : sql_(dialect.translated(shared)) {}
  SqlText(const SqlText&) = delete;
  SqlText& operator=(const SqlText&) = delete;
  const std::string& sql() const noexcept { return sql_; }

 private:
  std::string sql_;
};

// One thread at a time. Errors are thrown as Failure. After one a server's transaction is over,
// unless the error is ours (code 0); SQLite's may continue without the statement. In both cases it
// must be rolled back.
class Statements {
 public:
  virtual ~Statements() = default;
  Statements() = default;
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;

  // Runs the queued statements, then `text`, and returns its answer.
  virtual Answer ask(const SqlText& text, std::initializer_list<Param> params) = 0;
  // Runs it with, or before, the next ask or commit: a write whose answer is not needed. Its error
  // is thrown there.
  virtual void queue(const SqlText& text, std::initializer_list<Param> params) = 0;
};

}  // namespace semel::sql
