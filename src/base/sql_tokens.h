// The tokens of one SQL statement, without comments and with every placeholder as `?`.
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
  std::string written;    // its text in the statement
  std::size_t depth = 0;  // number of parentheses around it
  std::size_t at = 0;     // its offset in Tokens::text

  bool is_word(std::string_view upper) const noexcept {
    return kind == Kind::kWord && text == upper;
  }
  bool is_symbol(char c) const noexcept { return kind == Kind::kSymbol && written[0] == c; }
  // Whether it may name a table. A string may: SQLite accepts one as a name there.
  bool is_name() const noexcept {
    return kind == Kind::kWord || kind == Kind::kQuotedName || kind == Kind::kString;
  }
};

struct Tokens {
  std::vector<Token> tokens;
  std::string text;                 // the statement without comments and semicolon
  std::vector<std::string> params;  // one for each placeholder
};

// The table named at `i`, without its schema; empty where none is. Moves `i` past the name.
std::string table_at(const std::vector<Token>& tokens, std::size_t& i);

// kRejected: a statement that cannot be admitted.
Error statement_error(std::string message, std::string hint = "");

// Refuses (kRejected) several statements, unterminated ones, NUL, `?1`, `@x` and `$x`.
Result<Tokens> tokenize(std::string_view sql);

}  // namespace semel::sql
