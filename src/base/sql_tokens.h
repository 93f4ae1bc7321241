// The words of one SQL statement. Comments are gone and every placeholder is a `?`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::sql {

struct Token {
  enum class Kind { kWord, kQuotedName, kString, kNumber, kPlaceholder, kSymbol };
  Kind kind;
  std::string text;       // a word in upper case, a quoted name or string without its quotes
  std::string written;    // as it stands in the statement
  std::size_t depth = 0;  // of parentheses around it
  std::size_t at = 0;     // where it begins in Tokens::text

  bool is_word(std::string_view upper) const noexcept {
    return kind == Kind::kWord && text == upper;
  }
  bool is_symbol(char c) const noexcept { return kind == Kind::kSymbol && written[0] == c; }
  // What may stand where a table is named. A string may: SQLite takes one for a name there.
  bool is_name() const noexcept {
    return kind == Kind::kWord || kind == Kind::kQuotedName || kind == Kind::kString;
  }
};

struct Tokens {
  std::vector<Token> tokens;
  std::string text;                 // the statement with its comments and its semicolon left out
  std::vector<std::string> params;  // one for each placeholder
};

// The table named at `i`, without its schema; empty where none is. `i` goes past the name.
std::string table_at(const std::vector<Token>& tokens, std::size_t& i);

// kRejected: a statement that cannot be admitted.
Error statement_error(std::string message, std::string hint = "");

// Refuses (kRejected) more than one statement, what is left open, NUL, `?1`, `@x` and `$x`.
Result<Tokens> tokenize(std::string_view sql);

}  // namespace semel::sql
