#include "stores/sqlite/store_facts.h"

#include <fmt/format.h>

#include <charconv>

#include "stores/sql/consumer_stats.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/schema.h"
#include "stores/sqlite/tables.h"
#include "stores/sqlite/verify.h"

namespace semel::sqlite {
namespace {

Tables& tables_of(sql::Access& access) { return static_cast<Tables&>(access.tables()); }

Connection& connection_of(sql::Access& access) {
  return static_cast<Connection&>(access.statements());
}

std::size_t number_in(const std::string& text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The last completion of each consumer; those in a sealed generation are older, except in one just
// sealed.
void note_completions(Connection& connection, std::int64_t generation, StoreStats& stats) {
  const std::string sql = fmt::format(
      "SELECT id, max(completed_at) FROM {} GROUP BY substr(id, 1, 4)", table_of(generation));
  Prepared last(connection, sql.c_str());
  const Reading reading(last);
  while (last.next()) {
    auto* const told = sql::consumer_in(stats, last.key_id(0).consumer());
    if (told != nullptr) core::note_change(*told, last.maybe_time(1));
  }
}

}  // namespace

sql::VerifyWords FileStoreFacts::words() const noexcept { return {"semel_live", kNever, kBehind}; }

void FileStoreFacts::describe(sql::Access& access, StoreStats& stats) {
  Connection& connection = connection_of(access);
  stats.schema_version = schema_version(connection);
  stats.epoch = tables_of(access).facts.epoch;
  stats.bytes = number_in(connection.ask("PRAGMA page_count")) *
                number_in(connection.ask("PRAGMA page_size"));
}

void FileStoreFacts::count_generations(sql::Access& access, StoreStats& stats) {
  Connection& connection = connection_of(access);
  for (const auto& generation : tables_of(access).generations.all()) {
    const GenerationRow& row = generation->row();
    StoreStats::Generation told;
    told.number = row.number;
    told.active = row.active;
    told.ttl = row.ttl;
    told.created_at = row.created_at;
    told.records = number_in(
        connection.ask(fmt::format("SELECT count(*) FROM {}", table_of(row.number)).c_str()));
    stats.generations.push_back(told);
    if (row.active) note_completions(connection, row.number, stats);
  }
}

std::vector<StoreFinding> FileStoreFacts::verify_tables(sql::Access& access, bool full) {
  return sqlite::verify_tables(tables_of(access), connection_of(access), full);
}

std::vector<StoreFinding> FileStoreFacts::verify_generations(sql::Access& access, bool full) {
  return sqlite::verify_generations(tables_of(access), connection_of(access), full);
}

const sql::VerifyTexts& verify_texts() {
  static const sql::VerifyTexts all{Dialect()};
  return all;
}

}  // namespace semel::sqlite
