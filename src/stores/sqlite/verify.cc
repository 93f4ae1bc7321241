#include "stores/sqlite/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

// Rows told of each kind of finding; the rest is counted.
constexpr std::size_t kTold = 10;
// What SQLite tells of a damaged file at most.
constexpr int kPageErrors = 20;

constexpr std::string_view kTables[] = {
    "semel_schema",      "semel_meta",     "semel_consumer", "semel_generation",
    "semel_live",        "semel_held",     "semel_inbox",    "semel_result",
    "semel_dead_letter", "semel_position", "semel_instance", "semel_run",
    "semel_crash",       "semel_gate",     "semel_step",     "semel_audit"};

class Look {
 public:
  Look(Tables& tables, Connection& connection) : tables_(tables), connection_(connection) {}

  std::vector<StoreFinding> found(bool full) {
    pages(full);
    names();
    consumers();
    pointers();
    for (const auto& generation : tables_.generations.all()) {
      const std::int64_t number = generation->row().number;
      if (!there_.contains(table_of(number))) continue;
      counts(generation->row());
      twice(number);
      if (full) details(number);
    }
    if (full) pairs();
    return std::move(findings_);
  }

 private:
  void add(bool wrong, std::string what, std::string where, std::string detail) {
    findings_.push_back({wrong, std::move(what), std::move(where), std::move(detail)});
  }

  // Each row of `sql` is a finding: its first column says where. Past a few they are counted.
  void each(bool wrong, const std::string& what, std::string_view table, const std::string& sql,
            const std::string& detail) {
    Prepared rows(connection_, sql.c_str());
    std::size_t seen = 0;
    while (rows.next()) {
      if (seen++ < kTold) add(wrong, what, place(table, rows), detail);
    }
    if (seen > kTold) {
      add(wrong, what, std::string(table), fmt::format("{}: {} rows in all", detail, seen));
    }
  }

  // "semel_live k-1", or the row's number or id where it has no key.
  static std::string place(std::string_view table, const Prepared& row) {
    const BytesView shown = row.bytes(0);
    return fmt::format("{} {}", table, is_text(shown) ? std::string(shown) : digest::hex(shown));
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
      if (check.bytes(0) != "ok") add(true, "file.damaged", connection_.path(), check.text(0));
    }
  }

  void names() {
    Prepared tables(connection_,
                    "SELECT name FROM sqlite_master WHERE type = 'table' "
                    "AND name LIKE 'semel\\_%' ESCAPE '\\' ORDER BY name");
    while (tables.next()) there_.insert(tables.text(0));
    std::set<std::string> known(std::begin(kTables), std::end(kTables));
    for (const auto& generation : tables_.generations.all()) {
      known.insert(table_of(generation->row().number));
    }
    for (const std::string& name : known) {
      if (!there_.contains(name)) add(true, "table.missing", name, "the store lacks this table");
    }
    for (const std::string& name : there_) {
      if (known.contains(name)) continue;
      const bool records = name.starts_with("semel_completed_");
      add(records, "table.unknown", name,
          records ? "completed records that no generation names: their keys count as new"
                  : "not a table of this version");
    }
  }

  void consumers() {
    std::set<std::uint32_t> known;
    for (const ConsumerRow& row : tables_.consumers.all()) {
      known.insert(static_cast<std::uint32_t>(row.number));
    }
    for (const sql::RecordCount& count : tables_.live.counts()) {
      const auto number = static_cast<std::uint32_t>(count.consumer);
      if (known.contains(number)) continue;
      add(true, "consumer.unknown", "semel_live",
          fmt::format("{} records of consumer number {}, which has no name", count.rows, number));
    }
    for (const std::string_view table : {"semel_held", "semel_dead_letter", "semel_inbox"}) {
      const std::int64_t rows =
          number(fmt::format("SELECT count(*) FROM {} WHERE consumer NOT IN "
                             "(SELECT number FROM semel_consumer)",
                             table));
      if (rows == 0) continue;
      add(true, "consumer.unknown", std::string(table),
          fmt::format("{} rows of a consumer that has no name", rows));
    }
  }

  void pointers() {
    each(true, "record.held_missing", "semel_live",
         "SELECT coalesce(key, id) FROM semel_live WHERE held IS NOT NULL "
         "AND held NOT IN (SELECT row FROM semel_held)",
         "its payload should be held, and is not there: it can not come back by itself");
    each(true, "record.inbox_missing", "semel_live",
         "SELECT coalesce(key, id) FROM semel_live WHERE inbox IS NOT NULL "
         "AND inbox NOT IN (SELECT row FROM semel_inbox)",
         "its message should be in the inbox, and is not there");
    each(true, "held.lost", "semel_held",
         fmt::format("SELECT row FROM semel_held WHERE due_at = {} AND row NOT IN "
                     "(SELECT held FROM semel_live WHERE held IS NOT NULL)",
                     kNever.time_since_epoch().count()),
         "kept for a person, and no record names it");
    each(true, "held.stuck", "semel_held",
         fmt::format("SELECT row FROM semel_held AS this WHERE due_at = {} AND NOT EXISTS "
                     "(SELECT 1 FROM semel_held AS other WHERE other.consumer = this.consumer "
                     "AND other.line = this.line AND other.place < this.place)",
                     kBehind.time_since_epoch().count()),
         "waits for what is before it in its line, and nothing is");
  }

  // Counts are written once in a while, and not at all by a process that is killed.
  void counts(const GenerationRow& row) {
    const std::int64_t rows = number(fmt::format("SELECT count(*) FROM {}", table_of(row.number)));
    if (row.active || rows == row.rows) return;
    add(false, "generation.count", table_of(row.number),
        fmt::format("holds {} records, and {} were counted: a process was killed before it wrote "
                    "its count",
                    rows, row.rows));
  }

  void twice(std::int64_t generation) {
    each(true, "record.twice", "semel_live",
         fmt::format("SELECT coalesce(it.key, it.id) FROM semel_live AS it JOIN {} AS done "
                     "ON done.id = it.id",
                     table_of(generation)),
         fmt::format("is {}, and completed in {} too", "not completed", table_of(generation)));
  }

  void details(std::int64_t generation) {
    const std::string table = table_of(generation);
    each(true, "record.result_missing", table,
         fmt::format("SELECT id FROM {} WHERE result IS NOT NULL AND result NOT IN "
                     "(SELECT row FROM semel_result)",
                     table),
         "its result is not there");
    each(true, "record.inbox_missing", table,
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
        each(true, "record.contradicted", first,
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
  std::vector<StoreFinding> findings_;
};

}  // namespace

std::vector<StoreFinding> verify_in(Tables& tables, Connection& connection, bool full) {
  return Look(tables, connection).found(full);
}

}  // namespace semel::sqlite
