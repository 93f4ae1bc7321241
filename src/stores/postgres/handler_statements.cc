#include "stores/postgres/handler_statements.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/overloaded.h"
#include "base/sql_lexer.h"
#include "stores/postgres/error_table.h"

namespace semel::postgres {
namespace {

constexpr std::string_view kUniqueViolation = "23505";
constexpr std::string_view kLockNotAvailable = "55P03";

std::string numbered(const std::string& sql) {
  std::string out;
  char quote = 0;
  int number = 0;
  for (const char c : sql) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '?') {
      out += fmt::format("${}", ++number);
      continue;
    }
    out += c;
  }
  return out;
}

std::string hex_of(const Bytes& bytes) {
  std::string hex = "\\x";
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

// Both forms of bytea_output: a borrowed session has its caller's.
Bytes bytes_of(const char* text) {
  std::size_t size = 0;
  const std::unique_ptr<unsigned char, decltype(&PQfreemem)> bytes(
      PQunescapeBytea(reinterpret_cast<const unsigned char*>(text), &size), PQfreemem);
  if (bytes == nullptr) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(bytes.get()), size};
}

Value value_at(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return Null{};
  const std::string_view text(PQgetvalue(result, row, column),
                              static_cast<std::size_t>(PQgetlength(result, row, column)));
  switch (PQftype(result, column)) {
    case oid::kInt2:
    case oid::kInt4:
    case oid::kInt8: {
      std::int64_t number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      return number;
    }
    case oid::kFloat4:
    case oid::kFloat8:
      return std::strtod(text.data(), nullptr);
    case oid::kBool:
      return std::int64_t{text == "t" ? 1 : 0};
    case oid::kBytea:
      return Blob{bytes_of(text.data())};
    default:
      return std::string(text);
  }
}

std::string_view field(const PGresult* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text != nullptr ? text : "";
}

// The number's own text. A short whole number is written without a point and an exponent, so that
// an integer column takes it too.
std::string literal_of(const Decimal& number) {
  constexpr std::size_t kShort = 40;
  const auto read = decimal::parse(number.text);
  const bool plain = read && read->whole() && read->before_point() <= kShort;
  return plain ? decimal::plain(*read) : number.text;
}

// Raised by RAISE, in a function of the user's: whatever its SQLSTATE, it concerns the message.
bool raised(const PGresult* result) {
  return field(result, PG_DIAG_SOURCE_FUNCTION) == "exec_stmt_raise";
}

// The server counts the placeholders, which the user wrote as `?`.
bool names_placeholder(std::string_view said) {
  for (auto at = said.find('$'); at != std::string_view::npos; at = said.find('$', at + 1)) {
    if (at + 1 < said.size() && said[at + 1] >= '1' && said[at + 1] <= '9') return true;
  }
  return false;
}

bool waited_too_long(const PGresult* result) {
  return state_of(result) == kLockNotAvailable && !raised(result);
}

}  // namespace

std::int64_t number_of(const LockName& name) noexcept {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < sizeof number; ++at) number = number << 8U | name.bytes[at];
  return static_cast<std::int64_t>(number);
}

const HandlerTexts::Known& HandlerTexts::known(const Statement& statement) {
  if (last_ != nullptr && last_->first == statement.sql) return last_->second;
  // A handler that builds its SQL has ever new texts. After a send nothing refers to them.
  if (texts_.size() >= kMost && !texts_.contains(statement.sql)) texts_.clear();
  const auto [at, anew] = texts_.try_emplace(statement.sql);
  last_ = &*at;
  Known& known = at->second;
  if (!anew) return known;
  known.text = numbered(statement.sql);
  if (auto lexed = sql::lex(statement.sql); !lexed) {
    // For a single statement that cannot be parsed here, the server's error says more.
    if (statement.sql.find(';') != std::string::npos) known.refused = std::move(lexed.error());
  } else if (auto admitted = sql::admit(*lexed); !admitted) {
    known.refused = std::move(admitted.error());
  }
  return known;
}

Result<const std::string*> HandlerTexts::of(const Statement& statement) {
  const Known& found = known(statement);
  if (found.refused) return failure(*found.refused);
  return &found.text;
}

std::optional<sql::Broke> send(Pipe& pipe, HandlerTexts& texts, const RecordedStatement& recorded,
                               bool text_rows) {
  const auto known = texts.of(*recorded.statement);
  if (!known) {
    Error error = known.error();
    error.code = "handler.sql.refused";
    return sql::Broke{"refused", std::move(error), nullptr};
  }
  WireParams& params = texts.params();
  for (const Value& value : recorded.values) {
    const auto* const text = std::get_if<std::string>(&value);
    if (text != nullptr && text->find('\0') != std::string::npos) {
      return sql::Broke{"constraint",
                        {ErrorKind::kRejected, "handler.sql.constraint",
                         "a text value has a NUL byte, which PostgreSQL cannot hold",
                         "give it as a Blob for a bytea column", Remedy::kMessage},
                        nullptr};
    }
    std::visit(Overloaded{
                   [&](const Null&) { params.add_null(); },
                   [&](std::int64_t n) { params.add_kept_literal(std::to_string(n)); },
                   [&](double d) { params.add_kept_literal(fmt::format("{}", d)); },
                   [&](const std::string& s) { params.add_literal(s.c_str()); },
                   [&](const Blob& blob) { params.add_kept_literal(hex_of(blob.bytes)); },
                   [&](const Decimal& number) { params.add_kept_literal(literal_of(number)); },
               },
               value);
  }
  pipe.send(**known, params, text_rows);
  return std::nullopt;
}

std::variant<sql::Ran, sql::Broke> judge(const PGresult* result, bool returns_rows) {
  if (went_well(result)) {
    if (returns_rows) return sql::Ran{PQntuples(result)};
    const std::string_view text = PQcmdTuples(const_cast<PGresult*>(result));
    sql::Ran ran;
    std::from_chars(text.data(), text.data() + text.size(), ran.rows);
    return ran;
  }
  const std::string_view state = state_of(result);
  if (state.empty() || (is_store_failure(state) && !raised(result))) throw failure_of(result);
  sql::Broke broke;
  broke.sql_class = sql_class_of(state);
  // An error of the statement, not of the server: it is the handler's own.
  broke.error = {ErrorKind::kRejected,
                 "handler.sql." + broke.sql_class,
                 std::string(field(result, PG_DIAG_MESSAGE_PRIMARY)),
                 {},
                 raised(result) ? Remedy::kTime : remedy_of(state)};
  const std::string_view detail = field(result, PG_DIAG_MESSAGE_DETAIL);
  if (!detail.empty()) broke.error.message += fmt::format(" ({})", detail);
  if (names_placeholder(broke.error.message))
    broke.error.message += " ($1 is the first placeholder)";
  return broke;
}

void HandlerWire::send(sql::Mark mark) {
  using sql::Mark;
  pipe_.send(mark == Mark::kCommit ? end_ : sql::text_of(mark), {});
  if (mark == Mark::kFlush) back_ = Mark::kBackToFlush;
  if (mark == Mark::kMessage || mark == Mark::kReleaseQuestion) back_ = Mark::kBackToMessage;
  if (mark == Mark::kQuestion) back_ = Mark::kBackToQuestion;
  if (mark == Mark::kReleaseMessage) back_.reset();
  sent_.push_back({.check = mark == Mark::kCheck, .back = back_});
  commits_ = mark == Mark::kCommit;
}

void HandlerWire::send(const LockName& name) {
  static const std::string text = "SELECT pg_catalog.pg_advisory_xact_lock($1)";
  WireParams params;
  params.add_integer(number_of(name));
  pipe_.send(text, params);
  sent_.push_back({.lock = true});
}

std::optional<sql::Broke> HandlerWire::send(const RecordedStatement& statement, bool with_rows) {
  if (statement.lock) send(*statement.lock);
  auto refused = postgres::send(pipe_, texts_, statement, with_rows);
  if (refused) return refused;
  sent_.push_back({.statement = &statement, .with_rows = with_rows, .back = back_});
  const Rules& rules = statement.unique_rules;
  if (rules != nullptr && std::ranges::find(rules_, rules) == rules_.end()) rules_.push_back(rules);
  return std::nullopt;
}

std::vector<sql::Told> HandlerWire::run() {
  const auto sent = std::exchange(sent_, {});
  const bool commits = std::exchange(commits_, false);
  std::vector<ResultPtr> results;
  results.reserve(sent.size() + 2);
  // A borrowed transaction continues after our part.
  const bool in_doubt = commits && pipe_.owned();
  for (Pipe::Segment& segment : pipe_.run(in_doubt ? Loss::kInDoubt : Loss::kNothingDone)) {
    for (ResultPtr& result : segment.results) results.push_back(std::move(result));
  }
  // Results of earlier statements, sent by others, come first.
  const std::size_t first = results.size() - sent.size();
  for (std::size_t at = 0; at < first; ++at) {
    if (!went_well(results[at].get())) throw failure_of(results[at].get());
  }
  std::vector<sql::Told> told;
  told.reserve(sent.size());
  for (std::size_t at = 0; at < sent.size(); ++at) {
    const PGresult* const result = results[first + at].get();
    const bool tells =
        sent[at].check || sent[at].lock ? !went_well(result) : sent[at].statement != nullptr;
    if (!tells) continue;
    sql::Told& one = told.emplace_back(told_of(sent[at], result));
    if (std::holds_alternative<sql::Broke>(one.how)) {
      if (!commits) std::get<sql::Broke>(one.how).rule = rule_in(sent[at], result);
      return told;
    }
    if (sent[at].with_rows) one.rows = rows_of(result);
  }
  if (commits && !went_well(results.back().get())) throw failure_of(results.back().get());
  if (in_doubt) need_commit(results.back().get());
  return told;
}

sql::Told HandlerWire::told_of(const Sent& sent, const PGresult* result) const {
  if (names_blocked_ && !sent.check && waited_too_long(result)) {
    return {sql::blocked(failure_of(result).error()), {}};
  }
  if (sent.lock) throw failure_of(result);
  return {judge(result, sent.statement != nullptr && sent.statement->statement->returns_rows), {}};
}

const UniqueRule* HandlerWire::rule_in(const Sent& sent, const PGresult* result) {
  if (state_of(result) != kUniqueViolation) return nullptr;
  if (!sent.check) return rule_for(sent.statement->unique_rules, sent, result);
  // The server does not say which statement the check refuses: all belong to the message.
  for (const Rules& rules : rules_) {
    if (const UniqueRule* const found = rule_for(rules, sent, result)) return found;
  }
  return nullptr;
}

const UniqueRule* HandlerWire::rule_for(const Rules& rules, const Sent& sent,
                                        const PGresult* result) {
  if (rules == nullptr || rules->empty()) return nullptr;
  const std::string name(field(result, PG_DIAG_CONSTRAINT_NAME));
  const std::string schema(field(result, PG_DIAG_SCHEMA_NAME));
  const auto* known = texts_.constraints().find(schema, name);
  if (known == nullptr && sent.back) {
    // The server answers nothing more until the transaction is rolled back to the savepoint.
    pipe_.send(sql::text_of(*sent.back), {});
    known = &texts_.constraints().look_up(pipe_, schema, name);
  }
  if (known == nullptr) return nullptr;
  return core::rule_for(*rules, *known);
}

void need_commit(const PGresult* result) {
  if (!went_well(result)) throw failure_of(result);
  if (std::string_view(PQcmdStatus(const_cast<PGresult*>(result))) == "COMMIT") return;
  sql::fail({ErrorKind::kRetryTransaction, "R200", "the transaction had failed before", {}}, 1);
}

Rows rows_of(const PGresult* result) {
  Rows rows;
  const int columns = PQnfields(result);
  for (int column = 0; column < columns; ++column)
    rows.columns.emplace_back(PQfname(result, column));
  for (int row = 0; row < PQntuples(result); ++row) {
    auto& values = rows.rows.emplace_back();
    for (int column = 0; column < columns; ++column)
      values.push_back(value_at(result, row, column));
  }
  return rows;
}

}  // namespace semel::postgres
