// Finds rows that violate a foreign key, without a store.
#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <semel/sqlite.h>

#include "stores/sqlite/place.h"
#include "stores/sqlite/prepared.h"
#include "stores/sqlite/store_context.h"

namespace semel::sqlite {
namespace {

// A table with more than this many is named with "at least".
constexpr std::int64_t kCounted = 1'000;

std::vector<SqliteFlaw> missing_parents(Connection& connection) {
  std::map<std::pair<std::string, std::string>, std::int64_t> rows;
  std::vector<SqliteFlaw> flaws;
  try {
    Prepared check(connection, "PRAGMA foreign_key_check");
    const Reading reading(check);
    while (check.next()) {
      constexpr int kTable = 0;
      constexpr int kParent = 2;
      if (++rows[{check.text(kTable), check.text(kParent)}] >= kCounted) break;
    }
  } catch (const Failure& failed) {
    // A foreign key that fits no key of its parent: each write to its table will fail.
    if ((failed.code() & 0xff) != SQLITE_ERROR) throw;
    flaws.push_back({failed.error().message,
                     "give the parent a PRIMARY KEY or UNIQUE over the columns that are named"});
  }
  for (const auto& [tables, count] : rows) {
    flaws.push_back({fmt::format("{}: {}{} of table {} {} no parent in {}", connection.path(),
                                 count >= kCounted ? "at least " : "",
                                 count == 1 ? "1 row" : fmt::format("{} rows", count), tables.first,
                                 count == 1 ? "has" : "have", tables.second),
                     fmt::format("PRAGMA foreign_key_check({}) lists them: delete them, or put "
                                 "their parents in; or store.sqlite.foreign_keys: false",
                                 tables.first)});
  }
  return flaws;
}

std::vector<SqliteFlaw> flaws_of(const SqliteOptions& options) {
  std::error_code unknown;
  if (!options.foreign_keys || !std::filesystem::exists(options.path, unknown)) return {};
  check_place(options);
  ConnectionOptions look = connection_options(options);
  look.only_look = true;
  Connection connection(look);
  connection.set_patience(options.busy);
  return missing_parents(connection);
}

}  // namespace
}  // namespace semel::sqlite

namespace semel {

Result<std::vector<SqliteFlaw>> sqlite_flaws(const SqliteOptions& options) {
  return sqlite::contained([&] { return sqlite::flaws_of(options); });
}

}  // namespace semel
