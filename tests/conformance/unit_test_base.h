// Shared by the suites of units of work.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/store_case.h"

namespace semel::conformance {

// One transaction on a batch, with the claims that it holds.
struct Batch {
  std::unique_ptr<UnitOfWork> unit;
  std::vector<Message> messages;
  std::vector<Claim> claims;

  const Lease& lease(std::size_t i) const { return std::get<Acquired>(claims[i]).lease; }
  // A completed Finish for each message that was acquired.
  std::vector<Finish> completions() const;
};

class UnitTest : public StoreTest {
 protected:
  void SetUp() override;

  TransactionalStore& transactional() { return *store().facets().transactional; }
  std::unique_ptr<UnitOfWork> begin(const UnitOptions& options = {});
  // A unit that has claimed `messages`.
  Batch claim_in_unit(std::vector<Message> messages, const UnitOptions& options = {});
  static void finish_all(Batch& batch);
  static void commit(Batch& batch);

  // Runs SQL in another program, which sees what is committed.
  Rows sql(const std::string& text) { return place().other_program()(text); }
  std::int64_t count(const std::string& from);

  static RecordedStatement statement(const std::string& sql, std::vector<Value> values = {});
  // INSERT INTO effect: the row that the tests look for afterwards.
  static StatementList effect(const std::string& name);
  std::int64_t effects() { return count("effect"); }
  std::int64_t effects(const std::string& name) {
    return count("effect WHERE name = '" + name + "'");
  }

  static FlushReport flushed(Batch& batch);
};

class UnitSuite : public UnitTest {};

// Five messages a batch: some are bad, the others are their neighbours.
class UnitStatementSuite : public UnitTest {
 protected:
  static UnitOptions each();
  // `bad` are given `statements`, the others an effect of their own.
  Batch five(const std::set<std::size_t>& bad, const StatementList& statements,
             const UnitOptions& options = each());
  // Ends the bad ones for another time and the others completed; the good effects are there.
  void expect_neighbours(Batch& batch, const std::set<std::size_t>& bad);
  // A transaction that has the row that book() changes. It makes the table.
  Batch lock_account();
  static RecordedStatement book();
  // Three statements, of which the second breaks a constraint.
  static StatementList breaking();

 private:
  int batches_ = 0;
};

}  // namespace semel::conformance
