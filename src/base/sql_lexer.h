// One lexer for SQL: placeholders and the verb that decides whether a statement is admitted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::sql {

struct Lexed {
  std::string verb;  // first keyword, upper case; of a WITH: the one after its list
  std::string text;  // every placeholder written as `?`, no trailing semicolon
  std::vector<std::string>
      params;  // for each `?`, the name it had, without colon; "" for a bare `?`
  std::vector<std::string> writes;  // tables named after INTO, UPDATE, DELETE FROM, INSERT, REPLACE
  std::vector<std::string> joined;  // all that an UPDATE or DELETE names: MySQL may change each
  // How many of the placeholders come before the statement's own WHERE; 0 where it has none. The
  // others after it identify the rows.
  std::size_t before_where = 0;
  bool returns_rows = false;
};

// Understands strings, quoted names, comments, `?`, `:name`, `::` casts. Refuses (kRejected) more
// than one statement, an empty one, an open string or comment, `?1`, `@x` and `$x` placeholders.
Result<Lexed> lex(std::string_view text);

// Refuses statements that a handler must not run: any verb but SELECT, INSERT, UPDATE, DELETE,
// REPLACE, VALUES, WITH, and writes to `semel_…` tables (docs/contract.md, rule 21).
Result<void> admit(const Lexed& statement);

}  // namespace semel::sql
