#include "base/sql_lexer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/sql_tokens.h"

namespace semel::sql {
namespace {

using TokenList = std::vector<Token>;

bool word_at(const TokenList& tokens, std::size_t i, std::string_view upper) noexcept {
  return i < tokens.size() && tokens[i].is_word(upper);
}

// Moves past the parentheses that open at `i`.
std::size_t past_parentheses(const TokenList& tokens, std::size_t i) noexcept {
  const std::size_t depth = tokens[i].depth;
  for (++i; i < tokens.size(); ++i) {
    if (tokens[i].depth == depth && tokens[i].is_symbol(')')) return i + 1;
  }
  return i;
}

// WITH [RECURSIVE] name [(columns)] AS [[NOT] MATERIALIZED] (statement) [, …]: where the list ends.
std::size_t past_with(const TokenList& tokens) noexcept {
  std::size_t i = word_at(tokens, 1, "RECURSIVE") && !word_at(tokens, 2, "AS") ? 2 : 1;
  for (;; ++i) {
    ++i;
    if (i < tokens.size() && tokens[i].is_symbol('(')) i = past_parentheses(tokens, i);
    if (!word_at(tokens, i, "AS")) return tokens.size();
    ++i;
    if (word_at(tokens, i, "NOT")) ++i;
    if (word_at(tokens, i, "MATERIALIZED")) ++i;
    if (i >= tokens.size() || !tokens[i].is_symbol('(')) return tokens.size();
    i = past_parentheses(tokens, i);
    if (i >= tokens.size() || !tokens[i].is_symbol(',')) return i;
  }
}

// The statement's own verb, with the addition that changes its meaning.
std::string verb_of(const TokenList& tokens) {
  std::size_t i = 0;
  if (tokens[0].is_word("WITH")) i = past_with(tokens);
  if (i >= tokens.size() || tokens[i].kind != Token::Kind::kWord) return "";
  const std::string& verb = tokens[i].text;
  if (word_at(tokens, i + 1, "OR") && word_at(tokens, i + 2, "ROLLBACK")) {
    return verb + " OR ROLLBACK";
  }
  if (verb == "SELECT") {
    for (std::size_t k = i; k < tokens.size(); ++k) {
      if (tokens[k].depth == 0 && tokens[k].is_word("INTO")) return "SELECT INTO";
    }
  }
  return verb;
}

std::vector<std::string> writes_of(const TokenList& tokens) {
  std::vector<std::string> writes;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::size_t name = 0;
    if (tokens[i].is_word("INTO") ||
        (tokens[i].is_word("FROM") && i > 0 && tokens[i - 1].is_word("DELETE"))) {
      name = i + 1;
    } else if (tokens[i].is_word("UPDATE")) {
      // Not the UPDATE of an upsert, nor that of a row lock.
      const bool locks = i > 0 && (tokens[i - 1].is_word("FOR") || tokens[i - 1].is_word("KEY"));
      if (locks || word_at(tokens, i + 1, "SET")) continue;
      name = word_at(tokens, i + 1, "OR") ? i + 3 : i + 1;
    } else {
      continue;
    }
    if (word_at(tokens, name, "ONLY") && name + 1 < tokens.size() && tokens[name + 1].is_name() &&
        !word_at(tokens, name + 1, "SET")) {
      ++name;
    }
    if (std::string table = table_at(tokens, name); !table.empty()) {
      writes.push_back(std::move(table));
    }
  }
  return writes;
}

bool answers_with_rows(std::string_view verb, const TokenList& tokens) noexcept {
  if (verb == "SELECT" || verb == "VALUES") return true;
  return std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
    return token.depth == 0 && token.is_word("RETURNING");
  });
}

std::size_t params_before_where(const TokenList& tokens) noexcept {
  std::size_t params = 0;
  for (const Token& token : tokens) {
    if (token.depth == 0 && token.is_word("WHERE")) return params;
    if (token.kind == Token::Kind::kPlaceholder) ++params;
  }
  return 0;
}

bool is_own_table(std::string_view table) noexcept { return ascii::begins_alike(table, "semel_"); }

}  // namespace

Result<Lexed> lex(std::string_view text) {
  Result<Tokens> read = tokenize(text);
  if (!read) return failure(std::move(read.error()));
  if (read->tokens.empty()) return failure(statement_error("the statement is empty"));
  Lexed lexed;
  lexed.verb = verb_of(read->tokens);
  lexed.writes = writes_of(read->tokens);
  lexed.before_where = params_before_where(read->tokens);
  lexed.returns_rows = answers_with_rows(lexed.verb, read->tokens);
  lexed.text = std::move(read->text);
  lexed.params = std::move(read->params);
  return lexed;
}

Result<void> admit(const Lexed& statement) {
  constexpr std::array<std::string_view, 6> kAdmitted = {"SELECT", "INSERT",  "UPDATE",
                                                         "DELETE", "REPLACE", "VALUES"};
  if (std::find(kAdmitted.begin(), kAdmitted.end(), statement.verb) == kAdmitted.end()) {
    return failure(statement_error(
        statement.verb.empty()
            ? "the statement begins with no verb"
            : fmt::format("{} may not stand in a message's transaction", statement.verb),
        "a handler's statements are SELECT, INSERT, UPDATE, DELETE, REPLACE, VALUES and WITH; its "
        "verdict ends the transaction"));
  }
  for (const std::string& table : statement.writes) {
    if (is_own_table(table)) {
      return failure(statement_error(fmt::format("the table {} belongs to Semel", table),
                                     "give the table of the business another name"));
    }
  }
  return {};
}

}  // namespace semel::sql
