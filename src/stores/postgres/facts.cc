#include "stores/postgres/facts.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <string_view>
#include <utility>

#include "stores/postgres/error_table.h"
#include "stores/postgres/generations.h"

namespace semel::postgres {
namespace {

LiveStatement refused_by(const sql::Failure& refused) {
  using State = LiveStatement::State;
  const ErrorKind kind = refused.error().kind;
  const bool of_the_statement = kind == ErrorKind::kRejected || kind == ErrorKind::kLimit ||
                                refused.code() == code_of(kNotSupported);
  if (!of_the_statement) return {};
  State state = State::kRefused;
  if (refused.code() == code_of(kNoSuchTable)) state = State::kMissingTable;
  if (refused.code() == code_of(kForbidden)) state = State::kForbidden;
  return {.state = state, .said = refused.error().message};
}

// Adds the sequences used in a line of a plan: nextval('shop.line'::regclass). The sequence of an
// identity column is written differently, and needs no right.
void add_sequences(std::string_view line, std::vector<std::string>& sequences) {
  constexpr std::string_view kBegin = "nextval('";
  constexpr std::string_view kEnd = "'::regclass)";
  for (auto at = line.find(kBegin); at != std::string_view::npos; at = line.find(kBegin, at)) {
    at += kBegin.size();
    const auto end = line.find(kEnd, at);
    if (end == std::string_view::npos) return;
    std::string name(line.substr(at, end - at));
    for (auto quote = name.find("''"); quote != std::string::npos;
         quote = name.find("''", quote + 1)) {
      name.erase(quote, 1);
    }
    sequences.push_back(std::move(name));
  }
}

}  // namespace

Facts::Facts(const Dialect& dialect, std::string_view schema)
    : schema_(schema),
      bytes_(dialect,
             "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM "
             "pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = "
             "c.relnamespace WHERE n.nspname = ?1 AND c.relkind = 'r'"),
      // -1: not counted yet.
      about_(dialect,
             "SELECT c.reltuples::bigint FROM pg_catalog.pg_class AS c JOIN "
             "pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
             "WHERE n.nspname = ?1 AND c.relname = ?2"),
      unnamed_(dialect,
               "SELECT c.relname::text FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class "
               "AS c ON c.oid = i.inhrelid JOIN pg_catalog.pg_class AS p ON p.oid = i.inhparent "
               "JOIN pg_catalog.pg_namespace AS n ON n.oid = p.relnamespace WHERE n.nspname = ?1 "
               "AND p.relname = ?2 AND NOT EXISTS (SELECT 1 FROM semel_generation AS g WHERE "
               "c.relname = ?3 || g.number)"),
      missing_(dialect,
               "SELECT g.number FROM semel_generation AS g WHERE NOT EXISTS (SELECT 1 FROM "
               "pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = "
               "c.relnamespace WHERE n.nspname = ?1 AND c.relname = ?2 || g.number)"),
      settings_(dialect,
                "SELECT name, setting FROM pg_catalog.pg_settings WHERE name IN ('fsync', "
                "'full_page_writes', 'synchronous_commit') ORDER BY name"),
      unique_names_(dialect,
                    "SELECT n.nspname::text, t.relname::text, c.relname::text, (SELECT "
                    "pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid, k, true), ',' "
                    "ORDER BY k) FROM pg_catalog.generate_series(1, "
                    "i.indnkeyatts::pg_catalog.int4) AS k) FROM pg_catalog.pg_index AS i JOIN "
                    "pg_catalog.pg_class AS c ON c.oid = i.indexrelid JOIN pg_catalog.pg_class AS "
                    "t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = "
                    "t.relnamespace WHERE i.indisunique AND n.nspname NOT IN ('pg_catalog', "
                    "'pg_toast', 'information_schema')"),
      may_draw_(dialect, "SELECT pg_catalog.has_sequence_privilege(?1, 'USAGE, UPDATE')") {}

std::size_t Facts::bytes(sql::Session& session) {
  sql::Answer answer = session.ask(bytes_, {sql::Word{schema_}});
  return answer.next() ? static_cast<std::size_t>(answer.integer(0)) : 0;
}

std::optional<std::size_t> Facts::about_records(sql::Session& session, std::int64_t generation) {
  const std::string name = partition_name(generation);
  sql::Answer answer = session.ask(about_, {sql::Word{schema_}, sql::Word{name}});
  if (!answer.next() || answer.integer(0) < 0) return std::nullopt;
  return static_cast<std::size_t>(answer.integer(0));
}

std::vector<StoreFinding> Facts::verify(sql::Session& session, bool full) {
  static_cast<void>(full);
  // Not written with the prefix here: it would be replaced as one of our tables.
  const std::string whole = "semel_record";
  const std::string beginning = whole + "_";
  std::vector<StoreFinding> findings;
  sql::Answer unnamed =
      session.ask(unnamed_, {sql::Word{schema_}, sql::Word{whole}, sql::Word{beginning}});
  while (unnamed.next()) {
    findings.push_back({true, "generation.unnamed", unnamed.bytes(0),
                        "a part of the records that semel_generation does not name"});
  }
  sql::Answer missing = session.ask(missing_, {sql::Word{schema_}, sql::Word{beginning}});
  while (missing.next()) {
    findings.push_back({true, "generation.missing", partition_name(missing.integer(0)),
                        "semel_generation names it, and there is no such table"});
  }
  return findings;
}

std::vector<LiveSetting> Facts::settings(sql::Statements& statements) {
  const auto risk_of = [](const std::string& name, const std::string& value) -> std::string {
    if (value != "off") return "";
    if (name == "synchronous_commit") {
      return "the last commits are lost when the server crashes, after they were acknowledged";
    }
    if (name == "fsync") return "a crash of the machine can damage or lose all that is stored";
    return "a crash of the machine can leave pages that are half written";
  };
  std::vector<LiveSetting> settings;
  sql::Answer answer = statements.ask(settings_, {});
  while (answer.next()) {
    LiveSetting& one = settings.emplace_back();
    one.name = answer.bytes(0);
    one.value = answer.bytes(1);
    one.risk = risk_of(one.name, one.value);
    if (!one.risk.empty()) one.fix = fmt::format("{} = on", one.name);
  }
  return settings;
}

// Prepares the statement on the server: only the server knows its search path.
LiveStatement Facts::statement(sql::Statements& statements, const Statement& statement) {
  auto& connection = static_cast<Connection&>(statements);
  const auto text = connection.handler_texts().of(statement);
  if (!text) return {};
  try {
    connection.pipe().send_once("PREPARE semel_look AS " + **text);
    connection.pipe().send_once("DEALLOCATE semel_look");
    connection.settle();
    return forbidden_in(connection, **text, statement.placeholders);
  } catch (const sql::Failure& refused) {
    if (!connection.whole()) throw;
    return refused_by(refused);
  }
}

// Rights are checked when a statement begins to run. EXPLAIN begins it and stops there.
LiveStatement Facts::forbidden_in(Connection& connection, const std::string& text,
                                  std::size_t placeholders) {
  WireParams nulls;
  for (std::size_t i = 0; i < placeholders; ++i) nulls.add_null();
  std::vector<std::string> sequences;
  try {
    connection.begin_look();
    connection.pipe().send_once("EXPLAIN (VERBOSE, COSTS OFF) " + text, nulls, true);
    const std::vector<ResultPtr> results = connection.run();
    const PGresult* const plan = results.back().get();
    for (int row = 0; row < PQntuples(plan); ++row) {
      add_sequences(PQgetvalue(plan, row, 0), sequences);
    }
    connection.roll_back();
  } catch (const sql::Failure& refused) {
    connection.roll_back();
    if (!connection.whole()) throw;
    // Any other error may be about the NULLs.
    return refused.code() == code_of(kForbidden) ? refused_by(refused) : LiveStatement();
  }
  for (const std::string& sequence : sequences) {
    sql::Answer answer = connection.ask(may_draw_, {sql::Word{sequence}});
    if (answer.next() && !answer.boolean(0)) {
      return {.state = LiveStatement::State::kForbidden,
              .said = fmt::format("permission denied for sequence {}", sequence)};
    }
  }
  return {};
}

std::vector<core::UniqueName> Facts::unique_names(sql::Statements& statements,
                                                  std::span<const Statement>) {
  std::vector<core::UniqueName> names;
  sql::Answer answer = statements.ask(unique_names_, {});
  while (answer.next()) {
    names.push_back({answer.bytes(0), answer.bytes(1), answer.bytes(2), answer.bytes(3)});
  }
  return names;
}

}  // namespace semel::postgres
