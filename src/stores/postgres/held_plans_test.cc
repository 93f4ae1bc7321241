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

// The scans of a plan, in its order, without what they cost.
std::vector<std::string> scans_of(const std::string& plan) {
  std::vector<std::string> scans;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(" ->");
    const auto end = line.find("  (cost");
    if (end != std::string::npos && line.find(" Scan") < end) {
      scans.push_back(line.substr(begin, end - begin));
    }
  }
  return scans;
}

class PostgresHeldPlans : public testing::Test {
 protected:
  static Endpoint endpoint_of(const test::PooledDatabase& database) {
    Endpoint endpoint;
    endpoint.url = database.url();
    endpoint.schema = "semel";
    return endpoint;
  }

  const test::PooledDatabase database_{test::PostgresServer::shared()};
  const Endpoint endpoint_{endpoint_of(database_)};
  const Dialect dialect_{endpoint_.schema};
  const SessionTexts session_texts_{dialect_, endpoint_.clock};
  const sql::TableTexts texts_{dialect_};
  Connection session_{endpoint_, dialect_, session_texts_};
  sql::HeldPlans plans_{session_, dialect_, "EXPLAIN "};
};

TEST_F(PostgresHeldPlans, EachStatementGoesByAnIndex) {
  plans_.fill(texts_.held);
  // Before the server has statistics about the table, and after.
  for (const bool analyzed : {false, true}) {
    SCOPED_TRACE(analyzed ? "analyzed" : "not analyzed");
    if (analyzed) session_.ask_once("ANALYZE semel_held", {});
    for (const auto& [statement, plan] : plans_.all(texts_.held)) {
      SCOPED_TRACE(statement);
      EXPECT_NE(plan.find("Index Cond:"), std::string::npos) << plan;
      EXPECT_EQ(whole_scans(plan), std::vector<std::string>()) << plan;
    }
  }
}

TEST_F(PostgresHeldPlans, TheStatisticsReadTheEndsOfABacklogAndTheIndexOfTheOthers) {
  plans_.fill(texts_.held);
  plans_.fill_letters(texts_.dead_letters);
  session_.ask_once("VACUUM ANALYZE semel_held", {});
  session_.ask_once("VACUUM ANALYZE semel_dead_letter", {});
  auto plans = plans_.statistics(texts_);
  using Scans = std::vector<std::string>;
  EXPECT_EQ(scans_of(plans["backlog"]),
            (Scans{"Index Only Scan using semel_held_due on semel_held",
                   "Index Scan using semel_held_pkey on semel_held oldest",
                   "Index Scan using semel_held_pkey on semel_held newest"}));
  const Scans counts = scans_of(plans["letters.count"]);
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_TRUE(counts[0].starts_with("Index Only Scan")) << counts[0];
  // No index has the ids of a consumer: each end is the first that is found from there.
  const std::string& times = plans["letters.times"];
  EXPECT_EQ(scans_of(times),
            (Scans{"Index Scan using semel_dead_letter_pkey on semel_dead_letter",
                   "Index Scan Backward using semel_dead_letter_pkey on semel_dead_letter "
                   "semel_dead_letter_1",
                   "Index Scan using semel_dead_letter_pkey on semel_dead_letter oldest",
                   "Index Scan using semel_dead_letter_pkey on semel_dead_letter newest"}));
  const auto limit = times.find("Limit");
  EXPECT_NE(times.find("Limit", limit + 1), std::string::npos) << times;
}

}  // namespace
}  // namespace semel::postgres
