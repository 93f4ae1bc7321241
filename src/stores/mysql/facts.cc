#include "stores/mysql/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "stores/mysql/connection.h"
#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

// Above this number the server's estimate is good enough.
constexpr std::int64_t kMany = 1'000'000;

constexpr int kNoSuchTable = 1146;
// The statement could be run, but not prepared.
constexpr int kCannotPrepare = 1295;
constexpr std::string_view kRightMissing = "R253";

LiveStatement refused_by(const sql::Failure& refused) {
  using State = LiveStatement::State;
  const Error& error = refused.error();
  if (error.kind != ErrorKind::kRejected && error.kind != ErrorKind::kLimit) return {};
  State state = State::kRefused;
  if (refused.code() == kNoSuchTable) state = State::kMissingTable;
  if (error.code == kRightMissing) state = State::kForbidden;
  return {.state = state, .said = error.message};
}

}  // namespace

Facts::Facts(const sql::Dialect& dialect)
    : bytes_(dialect,
             "SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS SIGNED) FROM "
             "information_schema.tables WHERE table_schema = DATABASE() AND table_type = "
             "'BASE TABLE' AND LEFT(table_name, 6) = 'semel_'"),
      about_(dialect,
             "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() "
             "AND table_name = 'semel_record'"),
      check_(dialect,
             "CHECK TABLE semel_record, semel_open, semel_held, semel_inbox, semel_dead_letter"),
      unlisted_(dialect,
                "SELECT COALESCE(CONVERT(r.message_key USING utf8mb4), ''), LOWER(HEX(r.id)) "
                "FROM semel_record AS r WHERE r.state <> 'completed' AND NOT EXISTS "
                "(SELECT 1 FROM semel_open AS o WHERE o.id = r.id) LIMIT 10"),
      settings_(dialect,
                "SELECT CONCAT(@@innodb_flush_log_at_trx_commit, ''), CONCAT(@@innodb_doublewrite, "
                "''), CONCAT(@@sync_binlog, ''), @@log_bin"),
      // The database of the URL first; a statement may name another.
      engine_(
          dialect,
          "SELECT COALESCE(engine, '') FROM information_schema.tables WHERE table_name = ?1 AND "
          "table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') "
          "ORDER BY table_schema = DATABASE() DESC LIMIT 1") {}

std::size_t Facts::bytes(sql::Session& session) {
  sql::Answer answer = session.ask(bytes_, {});
  return answer.next() ? static_cast<std::size_t>(answer.integer(0)) : 0;
}

// For all generations together: the server can only distinguish them by counting.
std::optional<std::size_t> Facts::about_records(sql::Session& session, std::int64_t) {
  sql::Answer answer = session.ask(about_, {});
  if (!answer.next() || answer.null(0) || answer.integer(0) < kMany) return std::nullopt;
  return static_cast<std::size_t>(answer.integer(0));
}

std::vector<StoreFinding> Facts::verify(sql::Session& session, bool full) {
  std::vector<StoreFinding> findings;
  if (!full) return findings;
  // Columns: table, operation, type of message, message.
  sql::Answer answer = session.ask(check_, {});
  while (answer.next()) {
    const bool fine = answer.bytes(2) == "status" && answer.bytes(3) == "OK";
    if (!fine && answer.bytes(2) != "note") {
      findings.push_back({true, "table.damaged", answer.bytes(0), answer.bytes(3)});
    }
  }
  answer = session.ask(unlisted_, {});
  while (answer.next()) {
    const std::string& key = answer.bytes(0);
    findings.push_back({true, "record.unlisted",
                        "semel_record " + (key.empty() ? answer.bytes(1) : key),
                        "is not completed, and semel_open does not list it: nobody takes it over"});
  }
  return findings;
}

std::vector<LiveSetting> Facts::settings(sql::Statements& statements) {
  sql::Answer answer = statements.ask(settings_, {});
  answer.next();
  LiveSetting flush{"innodb_flush_log_at_trx_commit", answer.bytes(0), {}, {}};
  if (flush.value != "1") {
    flush.risk = flush.value == "2"
                     ? "the last second of commits is lost when the machine crashes, after they "
                       "were acknowledged"
                     : "the last second of commits is lost when the server crashes, after they "
                       "were acknowledged";
    flush.fix = "innodb_flush_log_at_trx_commit = 1";
  }
  LiveSetting pages{"innodb_doublewrite", answer.bytes(1), {}, {}};
  if (pages.value == "0" || pages.value == "OFF") {
    pages.risk = "a crash of the machine can leave pages that are half written";
    pages.fix = "innodb_doublewrite = ON";
  }
  std::vector<LiveSetting> settings = {std::move(flush), std::move(pages)};
  // Without a binary log the setting does not matter.
  if (!answer.boolean(3)) return settings;
  LiveSetting log{"sync_binlog", answer.bytes(2), {}, {}};
  if (log.value != "1") {
    log.risk = "the last commits are lost when the machine crashes, or a replica never has them";
    log.fix = "sync_binlog = 1";
  }
  settings.push_back(std::move(log));
  return settings;
}

// Prepares the statement on the server: only the server knows how it resolves names.
LiveStatement Facts::statement(sql::Statements& statements, const Statement& statement) {
  using State = LiveStatement::State;
  auto& connection = static_cast<Connection&>(statements);
  std::string prepare = "PREPARE semel_look FROM ";
  append_text(prepare, statement.sql, connection.literals());
  try {
    connection.queue(prepare);
    connection.queue("DEALLOCATE PREPARE semel_look");
    connection.run();
  } catch (const sql::Failure& refused) {
    if (!connection.whole()) throw;
    if (refused.code() != kCannotPrepare) return refused_by(refused);
  }
  for (const std::string& table : statement.writes) {
    sql::Answer answer = statements.ask(engine_, {sql::Word{table}});
    // A view has no engine, nor has a name that only the statement defines.
    const std::string engine = answer.next() ? answer.bytes(0) : "";
    if (!engine.empty() && engine != "InnoDB") return {State::kNotTransactional, table, engine, {}};
  }
  return {};
}

// Includes the session's own database, and another one where a statement names its table in full.
std::vector<core::UniqueName> Facts::unique_names(sql::Statements& statements,
                                                  std::span<const Statement> handled) {
  auto& connection = static_cast<Connection&>(statements);
  std::vector<core::UniqueName> names;
  sql::Answer answer = connection.ask(fmt::format(
      "SELECT table_schema, table_name, index_name, GROUP_CONCAT({} ORDER BY seq_in_index), "
      "table_schema = DATABASE() FROM information_schema.statistics WHERE non_unique = 0 GROUP BY "
      "table_schema, table_name, index_name",
      connection.wire().mariadb() ? "column_name" : "COALESCE(column_name, expression)"));
  while (answer.next()) {
    const std::string& schema = answer.bytes(0);
    const std::string& table = answer.bytes(1);
    const auto names_it = [&](const Statement& statement) {
      return names_in_full(statement.sql, schema, table);
    };
    if (!answer.boolean(4) && std::ranges::none_of(handled, names_it)) continue;
    names.push_back({schema, table, answer.bytes(2), answer.bytes(3)});
  }
  return names;
}

}  // namespace semel::mysql
