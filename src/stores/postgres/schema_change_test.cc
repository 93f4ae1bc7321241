// Statements of a session survive changes of the types they were prepared for.
#include <gtest/gtest.h>

#include "stores/postgres/connection.h"
#include "stores/postgres/test_live_place.h"

namespace semel::postgres {
namespace {

using test::make_message;

class PostgresSchemaChange : public LiveTest {
 protected:
  PostgresSchemaChange() : store_(open()), consumer_(attach(*store_)) {
    sql("CREATE TABLE changing (a integer)");
  }

  static RecordedStatement insert(const std::string& value) {
    RecordedStatement recorded;
    recorded.statement = admit_statement("INSERT INTO changing (a) VALUES (?)").value();
    recorded.values = {Value(value)};
    return recorded;
  }
  // One message for each value, in one transaction. Returns the report once the statement is
  // prepared anew; `runs_` counts the transactions.
  FlushReport flush(const std::vector<std::string>& values) {
    for (;;) {
      ++runs_;
      std::vector<Message> messages;
      for (std::size_t i = 0; i < values.size(); ++i) {
        messages.push_back(make_message(consumer_, std::to_string(++keys_)));
      }
      UnitOptions options;
      options.savepoints = Savepoints::kEach;
      auto unit = store_->facets().transactional->begin(options).value();
      EXPECT_TRUE(unit->claim(test::pointers(messages)).has_value());
      for (std::size_t i = 0; i < values.size(); ++i) unit->run(i, {insert(values[i])});
      auto report = unit->flush();
      if (report) return *std::move(report);
      EXPECT_EQ(report.error().kind, ErrorKind::kRetryTransaction) << report.error().message;
      if (runs_ > 9) return {};
    }
  }

  const std::unique_ptr<Store> store_;
  const ConsumerNumber consumer_;
  int runs_ = 0;
  int keys_ = 0;
};

TEST_F(PostgresSchemaChange, AWiderTypeTakesTheNextValue) {
  EXPECT_TRUE(flush({"1"}).failed.empty());
  EXPECT_EQ(runs_, 1);
  sql("ALTER TABLE changing ALTER a TYPE bigint");
  EXPECT_TRUE(flush({"3000000000"}).failed.empty());
  EXPECT_EQ(runs_, 3) << "one transaction more, in which all is prepared anew";
}

TEST_F(PostgresSchemaChange, AValueThatDoesNotFitStaysItsMessagesOwn) {
  EXPECT_TRUE(flush({"1"}).failed.empty());
  const FlushReport report = flush({"one", "2", "three", "four"});
  EXPECT_EQ(report.failed.size(), 3U) << "each behind the one before";
  EXPECT_EQ(runs_, 3);
}

// As behind a pooler that gave the session to another client in between.
TEST_F(PostgresSchemaChange, AStatementThatIsGoneIsPreparedAnew) {
  const Endpoint endpoint{url(), "semel"};
  const Dialect dialect(endpoint.schema);
  const SessionTexts texts(dialect, endpoint.clock);
  const sql::SqlText question(dialect, "SELECT ?1");
  Connection session(endpoint, dialect, texts);
  const auto ask = [&] {
    sql::Answer answer = session.ask(question, {std::int64_t{7}});
    return answer.next() ? answer.integer(0) : 0;
  };
  EXPECT_EQ(ask(), 7);
  session.pipe().send_once("DEALLOCATE ALL");
  session.settle();
  try {
    ask();
    ADD_FAILURE() << "it was not gone";
  } catch (const sql::Failure& failed) {
    EXPECT_EQ(failed.error().kind, ErrorKind::kRetryTransaction) << failed.error().message;
  }
  EXPECT_TRUE(session.whole());
  EXPECT_EQ(ask(), 7);
}

}  // namespace
}  // namespace semel::postgres
