// Facts: what each database reports about a store in its own way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/live_checks.h>

#include "core/unique_rules.h"
#include "stores/sql/session.h"

namespace semel::sql {

// As LiveChecks has them. Thread-safe. Throws Failure.
class LiveFacts {
 public:
  virtual ~LiveFacts() = default;
  virtual std::vector<LiveSetting> settings(Statements& statements) = 0;
  virtual LiveStatement statement(Statements& statements, const Statement& statement) = 0;
  // Names each unique constraint that `handled` may violate, and perhaps others.
  virtual std::vector<core::UniqueName> unique_names(Statements& statements,
                                                     std::span<const Statement> handled) = 0;
};

// Reported by servers only. Thread-safe. Throws Failure.
class Facts : public LiveFacts {
 public:
  // The size of the tables and their indexes on the server's disk.
  virtual std::size_t bytes(Session& session) = 0;
  // The estimated number of records of a generation, without counting; nullopt where unknown.
  virtual std::optional<std::size_t> about_records(Session& session, std::int64_t generation) = 0;
  // Faults of the tables themselves: a missing table, a table without a generation, a damaged
  // index.
  virtual std::vector<StoreFinding> verify(Session& session, bool full) = 0;
};

}  // namespace semel::sql
