// No statement about held rows scans all of them.
#include <gtest/gtest.h>

#include <regex>

#include "stores/mysql/connection.h"
#include "stores/mysql/url.h"
#include "stores/sql/tables.h"
#include "stores/sql/test_held_plans.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/pooled_database.h"

namespace semel::mysql {
namespace {

struct Access {
  std::string table;
  std::string way;
};

// The parts of a JSON plan about one table each.
std::vector<std::string> tables_of(const std::string& plan) {
  constexpr std::string_view kBegin = "\"table_name\"";
  std::vector<std::string> tables;
  for (auto at = plan.find(kBegin); at != std::string::npos;) {
    const auto next = plan.find(kBegin, at + 1);
    tables.push_back(plan.substr(at, next - at));
    at = next;
  }
  return tables;
}

// How a JSON plan reads the tables. A table that it only inserts into is left out.
std::vector<Access> accesses(const std::string& plan) {
  static const std::regex kAccess(
      R"re(("insert": (true|1),\s*)?"table_name": "([^"]*)",\s*("partitions": \[[^\]]*\],\s*)?"access_type": "([^"]*)")re");
  std::vector<Access> found;
  for (std::sregex_iterator at(plan.begin(), plan.end(), kAccess), end; at != end; ++at) {
    if (!(*at)[1].matched) found.push_back({(*at)[3], (*at)[5]});
  }
  return found;
}

class MySqlHeldPlans : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  static Endpoint endpoint_of(const test::PooledDatabase& database) {
    Endpoint endpoint;
    endpoint.target = target_of(database.url());
    return endpoint;
  }

  const test::PooledDatabase database_{GetParam()()};
  const Dialect dialect_{};
  const sql::TableTexts texts_{dialect_};
  const Endpoint endpoint_{endpoint_of(database_)};
  Connection session_{endpoint_};
  sql::HeldPlans plans_{session_, dialect_, "EXPLAIN FORMAT=JSON "};
};

TEST_P(MySqlHeldPlans, EachStatementGoesByAnIndex) {
  plans_.fill(texts_.held);
  // With old statistics of the server about the table, and with new ones.
  for (const bool analyzed : {false, true}) {
    SCOPED_TRACE(analyzed ? "analyzed" : "not analyzed");
    if (analyzed) session_.ask("ANALYZE TABLE semel_held");
    for (const auto& [statement, plan] : plans_.all(texts_.held)) {
      SCOPED_TRACE(statement);
      std::size_t of_held = 0;
      for (const Access& access : accesses(plan)) {
        // The server's temporary tables, with rows it has found.
        if (access.table.starts_with('<') || access.table == "fitting") continue;
        ++of_held;
        EXPECT_NE(access.way, "ALL") << access.table << '\n' << plan;
        EXPECT_NE(access.way, "index") << access.table << '\n' << plan;
      }
      EXPECT_GT(of_held, 0U) << plan;
    }
  }
}

TEST_P(MySqlHeldPlans, TheStatisticsReadTwoRowsOfABacklogAndTheIndexOfTheOthers) {
  plans_.fill(texts_.held);
  plans_.fill_letters(texts_.dead_letters);
  static const std::regex kIndexAlone(R"re("using_index": (true|1))re");
  static const std::regex kOneRow(R"re("access_type": "(system|eq_ref|const)")re");
  for (const bool analyzed : {false, true}) {
    SCOPED_TRACE(analyzed ? "analyzed" : "not analyzed");
    if (analyzed) session_.ask("ANALYZE TABLE semel_held, semel_dead_letter");
    for (const auto& [statement, plan] : plans_.statistics(texts_)) {
      SCOPED_TRACE(statement);
      std::size_t read = 0;
      for (const std::string& table : tables_of(plan)) {
        if (table.find(R"("table_name": "<)") == 0) continue;
        ++read;
        EXPECT_TRUE(std::regex_search(table, kIndexAlone) || std::regex_search(table, kOneRow))
            << table;
      }
      EXPECT_GT(read, 0U) << plan;
    }
  }
}

TEST_P(MySqlHeldPlans, ARowThatGoesReadsItsNeighboursInTheLineAlone) {
  const auto rows = plans_.fill_line(texts_.held, 500);
  session_.ask("FLUSH STATUS");
  plans_.take_out(texts_.held, std::span(rows).first(3));
  sql::Answer read = session_.ask("SHOW SESSION STATUS LIKE 'Handler_read_next'");
  ASSERT_TRUE(read.next());
  EXPECT_LT(std::stoul(read.bytes(1)), 100U) << "index entries behind the first one read";
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlHeldPlans, testing::ValuesIn(test::shared_mysql_servers()),
                         [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

}  // namespace
}  // namespace semel::mysql
