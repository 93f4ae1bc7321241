#include "stores/postgres/constraints.h"

#include <libpq-fe.h>

#include <chrono>
#include <utility>

namespace semel::postgres {
namespace {

// An index has the schema of its table, and a constraint the name of its index. The index of a
// partition inherits from that of its parent table.
const char* const kLookUp =
    "WITH RECURSIVE up AS ("
    "SELECT i.indexrelid, i.indrelid, i.indnkeyatts FROM pg_catalog.pg_index AS i "
    "JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid "
    "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname = $2 "
    "UNION ALL "
    "SELECT i.indexrelid, i.indrelid, i.indnkeyatts FROM up "
    "JOIN pg_catalog.pg_inherits AS h ON h.inhrelid = up.indexrelid "
    "JOIN pg_catalog.pg_index AS i ON i.indexrelid = h.inhparent) "
    "SELECT n.nspname, t.relname, c.relname, (SELECT pg_catalog.string_agg("
    "pg_catalog.pg_get_indexdef(up.indexrelid, k, true), ',' ORDER BY k) "
    "FROM pg_catalog.generate_series(1, up.indnkeyatts::pg_catalog.int4) AS k) "
    "FROM up JOIN pg_catalog.pg_class AS t ON t.oid = up.indrelid "
    "JOIN pg_catalog.pg_class AS c ON c.oid = up.indexrelid "
    "JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace";

// A constraint may be recreated under its name, on other columns.
constexpr std::chrono::seconds kKnownFor{30};

}  // namespace

const std::vector<core::UniqueName>* Constraints::find(const std::string& schema,
                                                       const std::string& constraint) const {
  const auto found = known_.find({schema, constraint});
  const bool fresh =
      found != known_.end() && std::chrono::steady_clock::now() < found->second.known_until;
  return fresh ? &found->second.names : nullptr;
}

const std::vector<core::UniqueName>& Constraints::look_up(Pipe& pipe, const std::string& schema,
                                                          const std::string& constraint) {
  static const std::string text = kLookUp;
  WireParams params;
  params.add_literal(schema.c_str());
  params.add_literal(constraint.c_str());
  pipe.send_once(text, params, true);
  const auto segments = pipe.run(Loss::kNothingDone);
  const PGresult* const answer = segments.back().results.back().get();
  if (!went_well(answer)) throw failure_of(answer);
  const auto word = [&](int row, int column) {
    return std::string(PQgetvalue(answer, row, column),
                       static_cast<std::size_t>(PQgetlength(answer, row, column)));
  };
  std::vector<core::UniqueName> names;
  for (int row = 0; row < PQntuples(answer); ++row) {
    names.push_back({word(row, 0), word(row, 1), word(row, 2), word(row, 3)});
  }
  Known known{std::move(names), std::chrono::steady_clock::now() + kKnownFor};
  return known_.insert_or_assign({schema, constraint}, std::move(known)).first->second.names;
}

}  // namespace semel::postgres
