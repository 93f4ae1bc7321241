#include "base/sql_lexer.h"

#include <algorithm>
#include <array>
#include <initializer_list>

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

bool is_any(const Token& token, std::initializer_list<std::string_view> upper) noexcept {
  return std::ranges::any_of(upper, [&](std::string_view word) { return token.is_word(word); });
}

// Past what may stand between a verb and its table: OR FAIL, LOW_PRIORITY, IGNORE, ONLY. A table
// may have such a name, and then no other name follows.
std::size_t past_modifiers(const TokenList& tokens, std::size_t i) noexcept {
  if (word_at(tokens, i, "OR")) i += 2;
  const auto follows = [&](std::size_t next) {
    if (next >= tokens.size() || tokens[next].is_word("SET")) return false;
    return tokens[next].is_name() || (tokens[i].is_word("ONLY") && tokens[next].is_symbol('('));
  };
  while (
      i < tokens.size() && follows(i + 1) &&
      is_any(tokens[i], {"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE", "ONLY"})) {
    ++i;
  }
  return i;
}

// Not the UPDATE of an upsert, nor that of a row lock.
bool is_update(const TokenList& tokens, std::size_t i) noexcept {
  if (!tokens[i].is_word("UPDATE") || word_at(tokens, i + 1, "SET")) return false;
  return i == 0 || !is_any(tokens[i - 1], {"FOR", "KEY"});
}

// MySQL needs no INTO. INSERT and REPLACE are functions too.
bool is_insert(const TokenList& tokens, std::size_t i) noexcept {
  if (!is_any(tokens[i], {"INSERT", "REPLACE"}) || (i > 0 && tokens[i - 1].is_word("OR"))) {
    return false;
  }
  return !word_at(tokens, past_modifiers(tokens, i + 1), "INTO");
}

std::vector<std::string> writes_of(const TokenList& tokens) {
  std::vector<std::string> writes;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::size_t name = i + 1;
    if (tokens[i].is_word("DELETE")) {
      name = past_modifiers(tokens, name);
      if (word_at(tokens, name, "FROM")) ++name;
    } else if (!tokens[i].is_word("INTO") && !is_insert(tokens, i) && !is_update(tokens, i)) {
      continue;
    }
    name = past_modifiers(tokens, name);
    if (name < tokens.size() && tokens[name].is_symbol('(') && word_at(tokens, name - 1, "ONLY")) {
      ++name;
    }
    if (std::string table = table_at(tokens, name); !table.empty()) {
      writes.push_back(std::move(table));
    }
  }
  return writes;
}

// All names at the places of tables of the UPDATE or DELETE at `verb`: MySQL changes any that it
// joins, under an alias too. A SELECT in parentheses only reads.
void add_joined(const TokenList& tokens, std::size_t verb, std::vector<std::string>& tables) {
  const std::size_t depth = tokens[verb].depth;
  bool place = true;
  for (std::size_t i = verb + 1; i < tokens.size() && tokens[i].depth >= depth;) {
    const Token& token = tokens[i];
    if (token.depth == depth && is_any(token, {"SET", "WHERE", "RETURNING", "ORDER", "LIMIT"})) {
      return;
    }
    const bool opens = token.is_symbol('(');
    if (opens && (!place || tokens[i - 1].is_word("USING") || word_at(tokens, i + 1, "SELECT"))) {
      i = past_parentheses(tokens, i);
      place = false;
    } else if (token.is_symbol(',') ||
               is_any(token, {"FROM", "JOIN", "STRAIGHT_JOIN", "USING", "LATERAL"})) {
      place = true;
      ++i;
    } else if (const std::size_t name = past_modifiers(tokens, i); place && name != i) {
      i = name;
    } else if (std::string table = place ? table_at(tokens, i) : ""; !table.empty()) {
      tables.push_back(std::move(table));
      place = false;
    } else {
      ++i;
    }
  }
}

std::vector<std::string> joined_of(const TokenList& tokens) {
  std::vector<std::string> tables;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is_word("DELETE") || is_update(tokens, i)) add_joined(tokens, i, tables);
  }
  return tables;
}

// U&"…" of PostgreSQL: its escapes may write any name.
bool has_escaped_name(const TokenList& tokens) noexcept {
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    if (tokens[i].kind == Token::Kind::kQuotedName && tokens[i - 1].is_symbol('&') &&
        tokens[i - 2].is_word("U") && tokens[i].at == tokens[i - 2].at + 2) {
      return true;
    }
  }
  return false;
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
  if (has_escaped_name(read->tokens)) {
    return failure(
        statement_error("a name written as U&\"…\" is not understood", "write the name itself"));
  }
  Lexed lexed;
  lexed.verb = verb_of(read->tokens);
  lexed.writes = writes_of(read->tokens);
  lexed.joined = joined_of(read->tokens);
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
  for (const auto* const tables : {&statement.writes, &statement.joined}) {
    const auto own = std::ranges::find_if(*tables, is_own_table);
    if (own == tables->end()) continue;
    return failure(statement_error(fmt::format("the table {} belongs to Semel", *own),
                                   "give the table of the business another name"));
  }
  return {};
}

}  // namespace semel::sql
