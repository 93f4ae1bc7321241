// Two sessions that change the same rows never deadlock.
#include "stores/mysql/connection.h"
#include "stores/mysql/record_batch.h"
#include "stores/mysql/store.h"
#include "stores/mysql/url.h"
#include "stores/sql/test_lock_order.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/pooled_database.h"

namespace semel::mysql {
namespace {

class MySqlLockOrder : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  MySqlLockOrder() { order_.fill(); }

  static Endpoint endpoint_of(const test::PooledDatabase& database) {
    Endpoint endpoint;
    endpoint.target = target_of(database.url());
    return endpoint;
  }

  const test::PooledDatabase database_{GetParam()()};
  const Dialect dialect_{};
  const sql::TableTexts texts_{dialect_};
  const Endpoint endpoint_{endpoint_of(database_)};
  Connection first_{endpoint_};
  Connection second_{endpoint_};
  sql::LockOrder order_{
      {first_, second_}, texts_, [this] { return GetParam()().lock_waiters(database_.name()); }};
};

TEST_P(MySqlLockOrder, OfARowThatABatchMovesAndTheLineOfTheNext) {
  EXPECT_EQ(order_.a_batch_moves_a_row_and_then_removes_one(), "");
}

TEST_P(MySqlLockOrder, OfALineThatABatchChangesAndTheRowOfTheNext) {
  EXPECT_EQ(order_.a_batch_removes_from_a_line_and_then_moves_a_row(), "");
}

TEST_P(MySqlLockOrder, OfRowsThatAreExtendedWhileTheyAreRemoved) {
  EXPECT_EQ(order_.rows_are_extended_while_they_are_removed(), "");
}

TEST_P(MySqlLockOrder, TheConsumersLockStandsForThatOfARowInALine) {
  EXPECT_EQ(order_.rows_left_by_a_lock_in_a_line(), 3U) << "else two locks come in either order";
}

TEST_P(MySqlLockOrder, OfRecordsThatAMixedBatchChanges) {
  MySqlOptions options;
  options.url = database_.url();
  const auto store = open_store(std::move(options), {});
  ASSERT_TRUE(store.has_value()) << store.error().message;
  ManyRecords records(first_, endpoint_.clock);
  EXPECT_EQ(order_.a_mixed_batch_meets_a_late_holder(**store, records), "");
}

TEST_P(MySqlLockOrder, OfLettersThatTwoOperatorsDiscard) {
  EXPECT_EQ(order_.letters_are_discarded_in_either_order(), "");
}

TEST_P(MySqlLockOrder, OfLettersThatTwoOperatorsReplay) {
  EXPECT_EQ(order_.letters_are_replayed_in_either_order(), "");
}

TEST_P(MySqlLockOrder, OfRowsOfADeadProcessThatShowWhileTheyAreRemoved) {
  EXPECT_EQ(order_.rows_of_a_dead_process_show_while_they_are_removed(), "");
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlLockOrder, testing::ValuesIn(test::shared_mysql_servers()),
                         [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

}  // namespace
}  // namespace semel::mysql
