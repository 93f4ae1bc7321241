#include "stores/sqlite/unique_names.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>

#include "stores/sqlite/handler_statements.h"

namespace semel::sqlite {
namespace {

class UniqueNamesTest : public ::testing::Test {
 protected:
  UniqueNamesTest() {
    sqlite3_open(":memory:", &handle_);
    connection_ = std::make_unique<Connection>(handle_);
    connection_->execute("CREATE TABLE seat(line TEXT, number INTEGER, name TEXT)");
    connection_->execute("CREATE UNIQUE INDEX one_seat ON seat(line, number)");
    connection_->execute("CREATE UNIQUE INDEX one_name ON seat(lower(name), number + 1)");
    connection_->execute("INSERT INTO seat VALUES ('a', 1, 'Ann')");
  }
  ~UniqueNamesTest() override {
    connection_.reset();
    sqlite3_close(handle_);
  }
  // Whether a violation by `values` falls under `rule`.
  bool fits(const std::string& values, const std::string& rule) {
    RecordedStatement recorded;
    recorded.statement = admit_statement("INSERT INTO seat VALUES " + values).value();
    recorded.unique_rules = std::make_shared<const std::vector<UniqueRule>>(
        std::vector<UniqueRule>{{"other(id)", {}}, {rule, {}}});
    HandlerStatements statements(*connection_);
    const auto went = statements.run(recorded, nullptr);
    const auto& broke = std::get<HandlerStatements::Broke>(went);
    return broke.rule == &recorded.unique_rules->back();
  }

  sqlite3* handle_ = nullptr;
  std::unique_ptr<Connection> connection_;
};

TEST_F(UniqueNamesTest, AConstraintGoesByItsColumnsAndByItsIndex) {
  for (const char* rule : {"seat(line, number)", "main.seat(line,number)", "one_seat"}) {
    EXPECT_TRUE(fits("('a', 1, 'Bob')", rule)) << rule;
  }
  for (const char* rule : {"seat(line)", "one_name", "seat(lower(name), number + 1)"}) {
    EXPECT_FALSE(fits("('a', 1, 'Bob')", rule)) << rule;
  }
}

TEST_F(UniqueNamesTest, AnExpressionGoesByItsTextToo) {
  for (const char* rule :
       {"seat(lower(name), number + 1)", "seat(lower(name), (number+1))", "one_name"}) {
    EXPECT_TRUE(fits("('b', 1, 'ANN')", rule)) << rule;
  }
  EXPECT_FALSE(fits("('b', 1, 'ANN')", "one_seat"));
  EXPECT_FALSE(fits("('b', 1, 'ANN')", "seat(upper(name), number + 1)"));
}

}  // namespace
}  // namespace semel::sqlite
