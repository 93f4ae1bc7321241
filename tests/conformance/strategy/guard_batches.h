// Batches of a Guard, and keys that it claims in one place and finishes in another, on any store
// that has them. Each has a consumer of its own.
#pragma once

#include <functional>
#include <string>

#include <semel/spi/store.h>

namespace semel::conformance {

// A database with a table effect(name text NOT NULL), by a connection of the caller's.
struct CallersTable {
  std::function<void(const std::string&)> run;
  std::function<int()> effects;
};

// On any store of its own: work outside of a transaction.
void guard_batches_plain_work(Store& store);
void guard_claims_and_finishes(Store& store);
// On a store of its own that has transactions.
void guard_batches_in_transactions(Store& store, const CallersTable& table);
// On the connection of `table`, which is in no transaction.
void guard_batches_under_the_callers_commit(Store& store, const CallersTable& table);
void guard_guards_in_its_work(Store& store, const CallersTable& table);

}  // namespace semel::conformance
