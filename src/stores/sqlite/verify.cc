#include "stores/sqlite/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "stores/sql/findings.h"
#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

// The most errors that SQLite reports for a damaged file.
constexpr int kPageErrors = 20;

constexpr std::string_view kTables[] = {
    "semel_schema",      "semel_meta",     "semel_consumer", "semel_generation",
    "semel_live",        "semel_held",     "semel_inbox",    "semel_result",
    "semel_dead_letter", "semel_position", "semel_instance", "semel_run",
    "semel_crash",       "semel_gate",     "semel_step",     "semel_audit"};

class Look {
 public:
  Look(Tables& tables, Connection& connection) : tables_(tables), connection_(connection) {
    Prepared names(connection_,
                   "SELECT name FROM sqlite_master WHERE type = 'table' "
                   "AND name LIKE 'semel\\_%' ESCAPE '\\' ORDER BY name");
    while (names.next()) there_.insert(names.text(0));
  }

  std::vector<StoreFinding> in_tables(bool full) {
    pages(full);
    names();
    return findings_.take();
  }
  std::vector<StoreFinding> in_generations(bool full) {
    for (const auto& generation : tables_.generations.all()) {
      const std::int64_t number = generation->row().number;
      if (!there_.contains(table_of(number))) continue;
      counts(generation->row());
      twice(number);
      if (full) details(number);
    }
    if (full) pairs();
    return findings_.take();
  }

 private:
  void each(const std::string& what, std::string_view table, const std::string& sql,
            const std::string& detail) {
    findings_.add_each(what, table, Prepared(connection_, sql.c_str()), detail);
  }

  std::int64_t number(const std::string& sql) {
    Prepared one(connection_, sql.c_str());
    const Reading reading(one);
    return one.next() ? one.integer(0) : 0;
  }

  void pages(bool full) {
    const std::string sql =
        fmt::format("PRAGMA {}({})", full ? "integrity_check" : "quick_check", kPageErrors);
    Prepared check(connection_, sql.c_str());
    while (check.next()) {
      if (check.bytes(0) != "ok")
        findings_.add(true, "file.damaged", connection_.path(), check.text(0));
    }
  }

  void names() {
    std::set<std::string> known(std::begin(kTables), std::end(kTables));
    for (const auto& generation : tables_.generations.all()) {
      known.insert(table_of(generation->row().number));
    }
    for (const std::string& name : known) {
      if (!there_.contains(name))
        findings_.add(true, "table.missing", name, "the store lacks this table");
    }
    for (const std::string& name : there_) {
      if (known.contains(name)) continue;
      const bool records = name.starts_with("semel_completed_");
      findings_.add(records, "table.unknown", name,
                    records ? "completed records that no generation names: their keys count as new"
                            : "not a table of this version");
    }
  }

  // Counts are written only now and then, and not at all by a process that is killed.
  void counts(const GenerationRow& row) {
    const std::int64_t rows = number(fmt::format("SELECT count(*) FROM {}", table_of(row.number)));
    if (row.active || rows == row.rows) return;
    findings_.add(
        false, "generation.count", table_of(row.number),
        fmt::format("holds {} records, and {} were counted: a process was killed before it wrote "
                    "its count",
                    rows, row.rows));
  }

  void twice(std::int64_t generation) {
    each("record.twice", "semel_live",
         fmt::format("SELECT coalesce(it.key, it.id) FROM semel_live AS it JOIN {} AS done "
                     "ON done.id = it.id",
                     table_of(generation)),
         fmt::format("is {}, and completed in {} too", "not completed", table_of(generation)));
  }

  void details(std::int64_t generation) {
    const std::string table = table_of(generation);
    each("record.result_missing", table,
         fmt::format("SELECT id FROM {} WHERE result IS NOT NULL AND result NOT IN "
                     "(SELECT row FROM semel_result)",
                     table),
         "its result is not there");
    each("record.inbox_missing", table,
         fmt::format("SELECT id FROM {} WHERE inbox IS NOT NULL AND inbox NOT IN "
                     "(SELECT row FROM semel_inbox)",
                     table),
         "its message is not in the inbox");
  }

  void pairs() {
    const auto& all = tables_.generations.all();
    for (auto one = all.begin(); one != all.end(); ++one) {
      for (auto other = std::next(one); other != all.end(); ++other) {
        const std::string first = table_of((*one)->row().number);
        const std::string second = table_of((*other)->row().number);
        if (!there_.contains(first) || !there_.contains(second)) continue;
        each("record.contradicted", first,
             fmt::format("SELECT it.id FROM {} AS it JOIN {} AS other ON other.id = it.id "
                         "WHERE other.fingerprint <> it.fingerprint",
                         first, second),
             fmt::format("completed in {} under another fingerprint", second));
      }
    }
  }

  Tables& tables_;
  Connection& connection_;
  std::set<std::string> there_;
  sql::Findings findings_;
};

}  // namespace

std::vector<StoreFinding> verify_tables(Tables& tables, Connection& connection, bool full) {
  return Look(tables, connection).in_tables(full);
}

std::vector<StoreFinding> verify_generations(Tables& tables, Connection& connection, bool full) {
  return Look(tables, connection).in_generations(full);
}

}  // namespace semel::sqlite
