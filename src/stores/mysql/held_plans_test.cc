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
