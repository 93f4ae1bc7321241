// No statement about held rows scans all of them.
#include <gtest/gtest.h>

#include <sstream>

#include "stores/postgres/connection.h"
#include "stores/sql/tables.h"
#include "stores/sql/test_held_plans.h"
#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"

namespace semel::postgres {
namespace {

// The lines of a plan that scan a whole table or a whole index.
std::vector<std::string> whole_scans(const std::string& plan) {
  std::vector<std::string> whole;
  std::istringstream lines(plan);
  std::string scan;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Index Cond:") != std::string::npos) scan.clear();
    if (line.find("Seq Scan") != std::string::npos) whole.push_back(line);
    if (line.find("Index Scan") == std::string::npos &&
        line.find("Index Only Scan") == std::string::npos) {
      continue;
    }
    if (!scan.empty()) whole.push_back(scan);
    scan = line;
  }
  if (!scan.empty()) whole.push_back(scan);
  return whole;
}

TEST(HeldPlans, OnPostgresEachStatementGoesByAnIndex) {
  const test::PooledDatabase database(test::PostgresServer::shared());
  Endpoint endpoint;
  endpoint.url = database.url();
  endpoint.schema = "semel";
  const Dialect dialect(endpoint.schema);
  const SessionTexts session_texts(dialect, endpoint.clock);
  const sql::TableTexts texts(dialect);
  Connection session(endpoint, dialect, session_texts);
  sql::HeldPlans plans(session, dialect, "EXPLAIN ");
  plans.fill(texts.held);
  // Before the server has statistics about the table, and after.
  for (const bool analyzed : {false, true}) {
    SCOPED_TRACE(analyzed ? "analyzed" : "not analyzed");
    if (analyzed) session.ask_once("ANALYZE semel_held", {});
    for (const auto& [statement, plan] : plans.all(texts.held)) {
      SCOPED_TRACE(statement);
      EXPECT_NE(plan.find("Index Cond:"), std::string::npos) << plan;
      EXPECT_EQ(whole_scans(plan), std::vector<std::string>()) << plan;
    }
  }
}

}  // namespace
}  // namespace semel::postgres
