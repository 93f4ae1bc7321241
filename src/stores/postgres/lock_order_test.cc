// Two sessions that change the same rows never deadlock.
#include "stores/postgres/connection.h"
#include "stores/postgres/record_batch.h"
#include "stores/postgres/store.h"
#include "stores/sql/test_lock_order.h"
#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"

namespace semel::postgres {
namespace {

class LockOrderTest : public testing::Test {
 protected:
  LockOrderTest() { order_.fill(); }

  static Endpoint endpoint_of(const test::PooledDatabase& database) {
    Endpoint endpoint;
    endpoint.url = database.url();
    endpoint.schema = "semel";
    return endpoint;
  }

  const test::PooledDatabase database_{test::PostgresServer::shared()};
  const Endpoint endpoint_ = endpoint_of(database_);
  const Dialect dialect_{endpoint_.schema};
  const SessionTexts session_texts_{dialect_, endpoint_.clock};
  const sql::TableTexts texts_{dialect_};
  Connection first_{endpoint_, dialect_, session_texts_};
  Connection second_{endpoint_, dialect_, session_texts_};
  sql::LockOrder order_{{first_, second_}, texts_, [this] {
                          return test::PostgresServer::shared().lock_waiters(database_.name());
                        }};
};

TEST_F(LockOrderTest, OfARowThatABatchMovesAndTheLineOfTheNext) {
  EXPECT_EQ(order_.a_batch_moves_a_row_and_then_removes_one(), "");
}

TEST_F(LockOrderTest, OfALineThatABatchChangesAndTheRowOfTheNext) {
  EXPECT_EQ(order_.a_batch_removes_from_a_line_and_then_moves_a_row(), "");
}

TEST_F(LockOrderTest, OfRowsThatAreExtendedWhileTheyAreRemoved) {
  EXPECT_EQ(order_.rows_are_extended_while_they_are_removed(), "");
}

TEST_F(LockOrderTest, TheConsumersLockStandsForThatOfARowInALine) {
  EXPECT_EQ(order_.rows_left_by_a_lock_in_a_line(), 3U) << "else two locks come in either order";
}

TEST_F(LockOrderTest, OfRecordsThatAMixedBatchChanges) {
  PostgresOptions options;
  options.url = endpoint_.url;
  const auto store = open_store(std::move(options), {});
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const BatchTexts batch_texts(dialect_, endpoint_.clock);
  ManyRecords records(first_, batch_texts);
  EXPECT_EQ(order_.a_mixed_batch_meets_a_late_holder(**store, records), "");
}

TEST_F(LockOrderTest, OfLettersThatTwoOperatorsDiscard) {
  EXPECT_EQ(order_.letters_are_discarded_in_either_order(), "");
}

TEST_F(LockOrderTest, OfLettersThatTwoOperatorsReplay) {
  EXPECT_EQ(order_.letters_are_replayed_in_either_order(), "");
}

TEST_F(LockOrderTest, OfRowsOfADeadProcessThatShowWhileTheyAreRemoved) {
  EXPECT_EQ(order_.rows_of_a_dead_process_show_while_they_are_removed(), "");
}

}  // namespace
}  // namespace semel::postgres
