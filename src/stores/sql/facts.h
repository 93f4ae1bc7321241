// Facts: what each database tells of a store in a way of its own.
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

// As LiveChecks has them. Any thread. Throws Failure.
class LiveFacts {
 public:
  virtual ~LiveFacts() = default;
  virtual std::vector<LiveSetting> settings(Statements& statements) = 0;
  virtual LiveStatement statement(Statements& statements, const Statement& statement) = 0;
  // Names each unique constraint that `handled` may violate, and perhaps others.
  virtual std::vector<core::UniqueName> unique_names(Statements& statements,
                                                     std::span<const Statement> handled) = 0;
};

// A server tells this besides. Any thread. Throws Failure.
class Facts : public LiveFacts {
 public:
  // What the tables and their indexes take on the server's disk.
  virtual std::size_t bytes(Session& session) = 0;
  // About how many records a generation has, told without counting; none where it cannot be told.
  virtual std::optional<std::size_t> about_records(Session& session, std::int64_t generation) = 0;
  // What is wrong with the tables themselves: one that is missing, one that no generation names, a
  // damaged index.
  virtual std::vector<StoreFinding> verify(Session& session, bool full) = 0;
};

}  // namespace semel::sql
