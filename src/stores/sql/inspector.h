// RecordInspector over the tables.
#pragma once

#include <memory>
#include <vector>

#include <semel/admin/records.h>
#include <semel/environment.h>

#include "stores/sql/verify.h"

namespace semel::sql {

// Describes a whole store in the database's own way. Throws Failure.
class StoreFacts {
 public:
  virtual ~StoreFacts() = default;
  virtual VerifyWords words() const noexcept = 0;
  // The version of its tables, its epoch and its size.
  virtual void describe(Access& access, StoreStats& stats) = 0;
  // Adds the generations, and the last completion of each consumer in `stats`.
  virtual void count_generations(Access& access, StoreStats& stats) = 0;
  // Findings about the tables themselves.
  virtual std::vector<StoreFinding> verify_tables(Access& access, bool full) = 0;
  // Findings about the records in generations.
  virtual std::vector<StoreFinding> verify_generations(Access& access, bool full) = 0;
};

// All of it outlives the port.
std::unique_ptr<RecordInspector> make_inspector(Database& database, const VerifyTexts& texts,
                                                StoreFacts& facts, Random& random);

}  // namespace semel::sql
