#include "stores/mysql/handler_statements.h"

#include <fmt/format.h>
#include <mysql.h>

#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/ascii.h"
#include "base/sql_lexer.h"
#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

constexpr unsigned kDuplicate = 1062;
constexpr unsigned kDuplicateWithKey = 1586;
constexpr unsigned kBinary = 63;

sql::Broke refused(Error error, const char* sql_class) {
  error.code = fmt::format("handler.sql.{}", sql_class);
  return {sql_class, std::move(error), nullptr};
}

// The texts between its placeholders; nullopt where the server would see a comment in it.
std::optional<std::vector<std::string>> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"' || c == '`') {
      quote = c;
    } else if (c == '#') {
      return std::nullopt;
    } else if (c == '?') {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

Value value_of(const MYSQL_FIELD& field, const char* value, std::size_t size) {
  if (value == nullptr) return Null{};
  const std::string_view text(value, size);
  switch (field.type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR: {
      std::int64_t number = 0;
      const auto read = std::from_chars(value, value + size, number);
      // An unsigned one may be too big.
      if (read.ec == std::errc()) return number;
      return std::string(text);
    }
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      return std::strtod(std::string(text).c_str(), nullptr);
    case MYSQL_TYPE_BIT: {
      std::uint64_t number = 0;
      for (const char c : text) number = number << 8U | static_cast<unsigned char>(c);
      return static_cast<std::int64_t>(number);
    }
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_STRING:
      if (field.charsetnr == kBinary) return Blob{Bytes(text)};
      return std::string(text);
    default:
      return std::string(text);
  }
}

Rows rows_of(const Said& said) {
  Rows rows;
  MYSQL_RES* const result = said.rows.get();
  if (result == nullptr) return rows;
  const unsigned columns = mysql_num_fields(result);
  const MYSQL_FIELD* const fields = mysql_fetch_fields(result);
  for (unsigned at = 0; at < columns; ++at) rows.columns.emplace_back(fields[at].name);
  while (const MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const sizes = mysql_fetch_lengths(result);
    auto& values = rows.rows.emplace_back();
    for (unsigned at = 0; at < columns; ++at) {
      values.push_back(value_of(fields[at], row[at], sizes[at]));
    }
  }
  return rows;
}

// Duplicate entry '…' for key 'name': the last quoted word; for table.name, the name.
std::string key_of(std::string_view said) {
  const std::size_t end = said.rfind('\'');
  if (end == std::string_view::npos || end == 0) return "";
  const std::size_t begin = said.rfind('\'', end - 1);
  if (begin == std::string_view::npos) return "";
  const std::string_view name = said.substr(begin + 1, end - begin - 1);
  return std::string(name.substr(name.rfind('.') + 1));
}

bool is_of_a_word(char c) noexcept {
  return c == '_' || c == '$' || (static_cast<unsigned char>(c) & 0x80U) != 0 ||
         ascii::lower(c) != ascii::upper(c) || (c >= '0' && c <= '9');
}

}  // namespace

bool names_in_full(std::string_view sql, std::string_view schema, std::string_view table) {
  const auto skip = [](std::string_view& rest, std::string_view what) {
    while (!rest.empty() && what.find(rest.front()) != std::string_view::npos)
      rest.remove_prefix(1);
  };
  for (auto at = sql.find(schema); at != std::string_view::npos; at = sql.find(schema, at + 1)) {
    if (at > 0 && is_of_a_word(sql[at - 1])) continue;
    std::string_view rest = sql.substr(at + schema.size());
    skip(rest, "` \t\r\n");
    if (!rest.starts_with('.')) continue;
    rest.remove_prefix(1);
    skip(rest, "` \t\r\n");
    if (!rest.starts_with(table)) continue;
    rest.remove_prefix(table.size());
    if (rest.empty() || !is_of_a_word(rest.front())) return true;
  }
  return false;
}

const HandlerTexts::Known& HandlerTexts::of(const Statement& statement) {
  // A handler that builds its SQL has ever new texts.
  if (texts_.size() >= kMost && !texts_.contains(statement.sql)) texts_.clear();
  auto& known = texts_[statement.sql];
  if (known) return *known;
  known = std::make_unique<Known>();
  auto lexed = sql::lex(statement.sql);
  if (!lexed) {
    const bool several = statement.sql.find(';') != std::string::npos;
    known->refused = refused(std::move(lexed.error()), several ? "refused" : "syntax");
    return *known;
  }
  if (auto admitted = sql::admit(*lexed); !admitted) {
    known->refused = refused(std::move(admitted.error()), "refused");
    return *known;
  }
  known->tables = std::move(lexed->writes);
  known->backslash = lexed->text.find('\\') != std::string::npos;
  if (auto parts = parts_of(lexed->text)) {
    known->parts = *std::move(parts);
  } else {
    known->refused = refused(
        {ErrorKind::kRejected, "", "a # stands in the statement", "write comments as -- or /* */"},
        "refused");
  }
  return *known;
}

void HandlerWire::note(Sent sent) {
  if (sent_.empty()) before_ = wire_.sent();
  sent_.push_back(sent);
}

void HandlerWire::send(sql::Mark mark) {
  note({});
  const bool ends = mark == sql::Mark::kCommit;
  wire_.send(ends && !mark_.empty() ? "RELEASE SAVEPOINT " + mark_ : sql::text_of(mark));
  commits_ = ends && mark_.empty();
}

// These servers have no named lock that ends with its transaction, but a row lock does. The row
// stays for a purge to remove: if it were removed immediately, sessions that wait for it would lock
// the gap that it leaves, and two of them deadlock.
void HandlerWire::send(const LockName& name) {
  const BytesView bytes(reinterpret_cast<const char*>(name.bytes.data()), name.bytes.size());
  std::string put = "INSERT INTO semel_lock (name) VALUES (";
  append_bytes(put, bytes, wire_.literals());
  put += ") ON DUPLICATE KEY UPDATE name = name";
  note({.lock = true});
  wire_.send(put);
}

std::optional<sql::Broke> HandlerWire::send(const RecordedStatement& statement, bool with_rows) {
  const HandlerTexts::Known& known = texts_.of(*statement.statement);
  if (known.refused) return known.refused;
  if (known.backslash && wire_.takes_escapes()) {
    return refused({ErrorKind::kRejected, "",
                    "a backslash stands in the statement, and this session takes it for an escape",
                    "give what holds it as a value, or SET sql_mode with NO_BACKSLASH_ESCAPES"},
                   "refused");
  }
  std::string text = known.parts.front();
  for (std::size_t at = 1; at < known.parts.size(); ++at) {
    if (at > statement.values.size()) {
      return refused({ErrorKind::kRejected, "", "a placeholder has no value", {}}, "syntax");
    }
    if (!append(text, statement.values[at - 1], wire_.literals())) {
      return refused({ErrorKind::kRejected,
                      "",
                      "a value is no number that MySQL can hold with all its digits",
                      {}},
                     "constraint");
    }
    text += known.parts[at];
  }
  if (!wire_.takes(text.size())) return refused(wire_.too_large(text.size()), "other");
  if (statement.lock) send(*statement.lock);
  note({.statement = &statement, .with_rows = with_rows});
  wire_.send(text);
  return std::nullopt;
}

std::vector<sql::Told> HandlerWire::run() {
  const auto sent = std::exchange(sent_, {});
  const bool commits = std::exchange(commits_, false);
  Answers answers = wire_.run(commits ? Loss::kInDoubt : Loss::kNothingDone);
  last_refusal_ = answers.refused ? answers.refused->code : 0;
  std::vector<sql::Told> told;
  for (std::size_t at = 0; at < sent.size() && before_ + at < answers.said.size(); ++at) {
    if (sent[at].statement == nullptr) continue;
    const Said& said = answers.said[before_ + at];
    sql::Told& one = told.emplace_back();
    one.how = sql::Ran{static_cast<std::int64_t>(said.changed)};
    if (sent[at].with_rows) one.rows = rows_of(said);
  }
  if (answers.refused) {
    const std::size_t bad = answers.said.size() - before_;
    const bool ours = answers.said.size() >= before_ && bad < sent.size();
    const Sent what = ours ? sent[bad] : Sent{};
    Error error = error_of(*answers.refused);
    if (names_blocked_ && (what.lock || what.statement != nullptr) &&
        error.kind == ErrorKind::kBlocked) {
      told.emplace_back().how = sql::blocked(std::move(error));
    } else if (what.statement == nullptr || is_store_failure(*answers.refused)) {
      throw wire_.told(*answers.refused);
    } else {
      told.emplace_back().how = broke(*answers.refused, *what.statement);
    }
  }
  // Something that only the server knows may have ended it: later statements would commit without
  // their claim.
  if (!commits && !wire_.in_transaction()) {
    sql::fail({ErrorKind::kRetryTransaction, "R200", "a statement ended the transaction", {}}, 1);
  }
  return told;
}

sql::Broke HandlerWire::broke(const Refusal& refusal, const RecordedStatement& statement) {
  sql::Broke broke;
  broke.sql_class = sql_class_of(refusal);
  // An error of the statement, not of the server: it is the handler's own.
  broke.error = {ErrorKind::kRejected,
                 "handler.sql." + broke.sql_class,
                 refusal.said,
                 {},
                 remedy_of(refusal.code)};
  if (refusal.code == kDuplicate || refusal.code == kDuplicateWithKey) {
    broke.rule = rule(refusal, statement);
  }
  return broke;
}

const UniqueRule* HandlerWire::rule(const Refusal& refusal, const RecordedStatement& statement) {
  const auto* const rules = statement.unique_rules.get();
  if (rules == nullptr || rules->empty()) return nullptr;
  const std::string key = key_of(refusal.said);
  for (const std::string& table : texts_.of(*statement.statement).tables) {
    const std::vector<core::UniqueName> names = names_of(statement.statement->sql, table, key);
    if (const UniqueRule* const found = core::rule_for(*rules, names)) return found;
  }
  const core::UniqueName by_name{"", "", key, ""};
  return core::rule_for(*rules, {&by_name, 1});
}

// The server reports only the key's name, and tables are known without their database: it is the
// one that the statement names, else the session's own.
std::vector<core::UniqueName> HandlerWire::names_of(const std::string& sql,
                                                    const std::string& table,
                                                    const std::string& key) {
  std::string look = fmt::format(
      "SELECT table_schema, table_name, GROUP_CONCAT({} ORDER BY seq_in_index), "
      "table_schema = DATABASE() FROM information_schema.statistics WHERE table_name = ",
      wire_.mariadb() ? "column_name" : "COALESCE(column_name, expression)");
  append_text(look, table, wire_.literals());
  look += " AND index_name = ";
  append_text(look, key, wire_.literals());
  look += " GROUP BY table_schema, table_name";
  wire_.send(look);
  Answers answers = wire_.run(Loss::kNothingDone);
  if (answers.refused) throw wire_.told(*answers.refused);
  sql::Answer rows = answer_of(answers.said.back());
  std::vector<core::UniqueName> own;
  std::vector<core::UniqueName> named;
  while (rows.next()) {
    const std::string& schema = rows.bytes(0);
    const bool is_named = names_in_full(sql, schema, table);
    if (!is_named && !rows.boolean(3)) continue;
    (is_named ? named : own).push_back({schema, rows.bytes(1), key, rows.bytes(2)});
  }
  return named.empty() ? own : named;
}

}  // namespace semel::mysql
