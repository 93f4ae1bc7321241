#include "stores/sqlite/facts.h"

#include <sqlite3.h>

#include "stores/sqlite/connection.h"
#include "stores/sqlite/unique_names.h"

namespace semel::sqlite {
namespace {

// SQLite has one code for every fault of a statement.
constexpr std::string_view kNoSuchTable = "no such table: ";

}  // namespace

// Semel sets on each of its connections the settings that decide about a crash, and refuses a
// journal that is not WAL: an operator can set no other value.
std::vector<LiveSetting> FileFacts::settings(sql::Statements& statements) {
  auto& connection = static_cast<Connection&>(statements);
  const bool enforced = connection.ask("PRAGMA foreign_keys") == "1";
  return {{"journal_mode", connection.ask("PRAGMA journal_mode"), {}, {}},
          {"foreign_keys", enforced ? "on" : "off", {}, {}}};
}

LiveStatement FileFacts::statement(sql::Statements& statements, const Statement& statement) {
  sqlite3* const handle = static_cast<Connection&>(statements).handle();
  sqlite3_stmt* prepared = nullptr;
  const int code = ::sqlite3_prepare_v2(handle, statement.sql.data(),
                                        static_cast<int>(statement.sql.size()), &prepared, nullptr);
  ::sqlite3_finalize(prepared);
  if (code != SQLITE_ERROR) return {};
  LiveStatement refused{.said = ::sqlite3_errmsg(handle)};
  const bool missing = refused.said.starts_with(kNoSuchTable);
  refused.state = missing ? LiveStatement::State::kMissingTable : LiveStatement::State::kRefused;
  return refused;
}

std::vector<core::UniqueName> FileFacts::unique_names(sql::Statements& statements,
                                                      std::span<const Statement>) {
  return unique_names_in(static_cast<Connection&>(statements));
}

}  // namespace semel::sqlite
