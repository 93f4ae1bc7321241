#include "stores/postgres/facts.h"

#include <fmt/format.h>

#include "stores/postgres/generations.h"

namespace semel::postgres {

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
               "c.relnamespace WHERE n.nspname = ?1 AND c.relname = ?2 || g.number)") {}

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
  // Not named with the others' beginning here: it would be taken for a table of ours.
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

}  // namespace semel::postgres
