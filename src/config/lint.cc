#include "config/lint.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/sql_lexer.h"
#include "base/sql_tokens.h"
#include "config/node.h"
#include "config/sql_build.h"

namespace semel::config {
namespace {

bool same_name(const sql::Token& a, const sql::Token& b) {
  return a.is_name() && b.is_name() && ascii::alike(a.text, b.text);
}

// An assignment of a SET list that computes a column from its own value.
struct Added {
  std::size_t first = 0;  // tokens
  std::size_t last = 0;
};

bool ends_assignment(const sql::Token& token, std::size_t depth) {
  if (token.depth < depth) return true;
  if (token.depth > depth) return false;
  return token.is_symbol(',') || token.is_word("WHERE") || token.is_word("FROM") ||
         token.is_word("RETURNING");
}

std::vector<Added> find_added(const std::vector<sql::Token>& tokens) {
  std::vector<Added> found;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const bool begins = tokens[i].is_word("SET") || tokens[i].is_symbol(',');
    if (!begins || !tokens[i + 1].is_name() || !tokens[i + 2].is_symbol('=')) continue;
    const auto depth = tokens[i + 1].depth;
    bool own = false;
    bool arithmetic = false;
    std::size_t at = i + 3;
    for (; at < tokens.size() && !ends_assignment(tokens[at], depth); ++at) {
      own = own || same_name(tokens[at], tokens[i + 1]);
      for (const char c : {'+', '-', '*', '/', '|'}) arithmetic |= tokens[at].is_symbol(c);
    }
    if (own && arithmetic) found.push_back({i + 1, at - 1});
  }
  return found;
}

// The position of tokens first … last in the statement's text: their first match, in the same
// order.
std::pair<std::size_t, std::size_t> span_of(const std::string& text,
                                            const std::vector<sql::Token>& tokens,
                                            const Added& added) {
  for (auto begin = text.find(tokens[added.first].written); begin != std::string::npos;
       begin = text.find(tokens[added.first].written, begin + 1)) {
    auto at = begin + tokens[added.first].written.size();
    const auto equals = text.find_first_not_of(" \t\r\n", at);
    if (equals == std::string::npos || text[equals] != '=') continue;
    for (auto i = added.first + 1; i <= added.last; ++i) {
      // The text of a placeholder token differs from the name that was written.
      if (tokens[i].kind == sql::Token::Kind::kPlaceholder) {
        const auto colon = text.find_first_of(":?", at);
        if (colon == std::string::npos) return {0, 0};
        at = text.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", colon + 1);
        at = std::min(at, text.size());
        continue;
      }
      const auto next = text.find(tokens[i].written, at);
      if (next == std::string::npos) return {0, 0};
      at = next + tokens[i].written.size();
    }
    return {begin, at - begin};
  }
  return {0, 0};
}

bool inserts_blindly(const std::string& verb, const std::vector<sql::Token>& tokens) {
  if (verb != "INSERT") return false;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].is_word("ON") && tokens[i + 1].is_word("CONFLICT")) return false;
    if (tokens[i].is_word("OR") &&
        (tokens[i + 1].is_word("IGNORE") || tokens[i + 1].is_word("REPLACE"))) {
      return false;
    }
  }
  return true;
}

class Linter {
 public:
  Linter(const ConsumerConfig& consumer, Report& report, Report& notes)
      : consumer_(consumer), report_(report), notes_(notes) {}

  void look_at(const Setting& value) {
    const auto lexed = sql::lex(value.text);
    const auto tokens = sql::tokenize(value.text);
    if (!lexed || !tokens) return;
    for (const auto& added : find_added(tokens->tokens)) {
      const auto [offset, length] = span_of(value.text, tokens->tokens, added);
      const auto place = length == 0 ? value.place : place_in(value, offset, length, report_);
      say("L101", place, value.path, "statement adds to a column: repeating it changes the result",
          "write the value it shall have, not what to add");
    }
    if (!safe() && inserts_blindly(lexed->verb, tokens->tokens)) {
      say("L102", value.place, value.path,
          "statement inserts: repeating it inserts again, unless a unique key refuses it",
          "INSERT … ON CONFLICT (event_id) DO NOTHING, where event_id is unique");
    }
  }

 private:
  bool safe() const { return core::has_record(consumer_.strategy); }

  void say(std::string_view code, const SourceLocation& place, const std::string& path,
           std::string_view message, std::string_view help) {
    if (consumer_.accept.contains(std::string(code))) return;
    auto& made = (safe() ? notes_ : report_).warning(code, place, path, std::string(message));
    if (safe()) {
      made.detail.push_back(
          "safe here: it runs in the same transaction as the dedup record "
          "(guarantee: transactional)");
      return;
    }
    made.detail.push_back(
        consumer_.strategy == core::StrategyKind::kNatural
            ? "not safe here: strategy natural keeps no record, a second delivery runs it again"
            : "not safe here: between look and act another delivery may run it too");
    made.help = fmt::format("{}; or strategy: dedup_table", help);
  }

  const ConsumerConfig& consumer_;
  Report& report_;
  Report& notes_;
};

}  // namespace

void lint(const Config& config, const Settings& settings, Report& report, Report& notes) {
  for (std::size_t c = 0; c < config.consumers.size(); ++c) {
    Linter linter(config.consumers[c], report, notes);
    const auto statements = join_path("consumers", c) + ".handler.sql.statements";
    for (std::size_t i = 0; i < settings.size(statements); ++i) {
      const auto* value = settings.find(join_path(statements, i) + ".sql");
      if (value != nullptr) linter.look_at(*value);
    }
  }
}

}  // namespace semel::config
