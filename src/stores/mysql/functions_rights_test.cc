// Rights to call the procedures, and the versions of tables that they work on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/mysql.h>

#include "stores/mysql/schema.h"
#include "stores/mysql/test_functions.h"
#include "stores/mysql/url.h"
#include "stores/sql/function_texts.h"

namespace semel::mysql {
namespace {

class ProcedureRights : public FunctionsTest {
 protected:
  ProcedureRights() { sql(fmt::format("CREATE USER {}", user_)); }
  ~ProcedureRights() override { sql(fmt::format("DROP USER {}", user_)); }
  void grant(const std::string& what) { sql(fmt::format("GRANT {} TO {}", what, user_)); }
  std::string procedures() const {
    return sql(
        "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE()");
  }
  static std::string newest() { return std::to_string(sql::kFunctionsVersion); }
  MySqlOptions options() const {
    MySqlOptions options;
    options.url = url();
    return options;
  }

  // Users belong to the server, which others use too.
  const std::string user_ = "l_" + database_;
};

TEST_P(ProcedureRights, TheLeastUserClaimsAndSeesNoTable) {
  grant("EXECUTE ON " + database_ + ".*");
  ClientSession least(url_of(user_));
  EXPECT_EQ(claimed(least, "k"), "new");
  EXPECT_EQ(claimed(least, "k"), "duplicate");
  const Begun leased = begun(least, "leased");
  EXPECT_EQ(leased.outcome, "new");
  EXPECT_EQ(called(least,
                   fmt::format("complete('payments', 'leased', {}, 'r')", hex(leased.lease.nonce))),
            "done");
  EXPECT_EQ(least.rows("CALL semel_claim_many('payments', '[\"m\"]', NULL, NULL)").at(0).at(2),
            "new");
  least.ask("CALL semel_publish('payments', 'm', NULL, NULL, NULL, NULL, NULL)");
  for (const char* const forbidden :
       {"SELECT * FROM semel_record", "SELECT * FROM semel_meta", "DELETE FROM semel_record",
        "INSERT INTO semel_number VALUES (NULL)", "CALL semel_internal_draw(@number)",
        "CALL semel_internal_place('payments', @number, @active)",
        "CALL semel_internal_take(x'00', NULL)",
        "CALL semel_internal_answer(x'00', x'00', NULL, NULL, @a, @b, @c, @d)",
        "DROP PROCEDURE semel_claim"}) {
    EXPECT_EQ(least.refused(forbidden).state, "42000") << forbidden;
  }
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "3");
}

TEST_P(ProcedureRights, AGrantOfOneProcedureIsEnoughToCallIt) {
  grant(fmt::format("EXECUTE ON PROCEDURE {}.semel_claim", database_));
  ClientSession least(url_of(user_));
  EXPECT_EQ(claimed(least, "k"), "new");
  EXPECT_EQ(least.refused("CALL semel_begin('payments', 'k', NULL, NULL, NULL, NULL)").state,
            "42000")
      << "nobody may call them until it is granted";
  EXPECT_EQ(least.refused("CALL semel_internal_draw(@number)").state, "42000");
}

// MySQL cannot replace a procedure without dropping its grants.
TEST_P(ProcedureRights, AGrantOfAProcedureThatDidNotChangeStays) {
  ASSERT_TRUE(make_mysql_functions(options()).has_value());
  grant(fmt::format("EXECUTE ON PROCEDURE {}.semel_claim", database_));
  sql("DROP PROCEDURE semel_claim_into");
  ASSERT_TRUE(make_mysql_functions(options()).has_value());
  ClientSession least(url_of(user_));
  EXPECT_EQ(claimed(least, "k"), "new");
}

TEST_P(ProcedureRights, ProceduresOfOtherTablesAreRefused) {
  sql("UPDATE semel_schema SET version = version + 1");
  for (const char* const call :
       {"claim('payments', 'k', NULL, NULL)", "begin('payments', 'k', NULL, NULL, NULL, NULL)",
        "complete('payments', 'k', REPEAT('n', 16), NULL)",
        "publish('payments', 'm', NULL, NULL, NULL, NULL, NULL)"}) {
    const auto refusal = client_.refused(fmt::format("CALL semel_{}", call));
    EXPECT_EQ(refusal.state, "SM273") << refusal.message;
    EXPECT_NE(refusal.message.find("(R273)"), std::string::npos) << refusal.message;
  }
}

TEST_P(ProcedureRights, AMigrationOfTheTablesReplacesTheProceduresToo) {
  grant("EXECUTE ON " + database_ + ".*");
  // As a version before the audit log left them.
  const std::string all = procedures();
  sql("DROP PROCEDURE semel_functions_version");
  sql("CREATE PROCEDURE semel_functions_version() SELECT 0");
  sql("CREATE PROCEDURE semel_internal_session_time() SELECT 0");
  sql("DROP TABLE semel_audit; UPDATE semel_schema SET version = 3");
  const auto change = mysql_schema_change(options());
  ASSERT_TRUE(change.has_value());
  EXPECT_NE(change->sql.find("PROCEDURE semel_functions_version()"), std::string::npos);
  ASSERT_TRUE(open_mysql(options()).has_value());
  EXPECT_EQ(called(client_, "functions_version()"), newest());
  EXPECT_EQ(procedures(), all) << "one that is needed no more is gone";
  ClientSession least(url_of(user_));
  EXPECT_EQ(claimed(least, "k"), "new") << "a grant on the database stays";
}

TEST_P(ProcedureRights, AMigrationLeavesTheProceduresOfAnotherOwner) {
  grant("ALL ON " + database_ + ".*");
  sql("DROP PROCEDURE semel_functions_version");
  sql("CREATE PROCEDURE semel_functions_version() SELECT 0");
  sql("DROP TABLE semel_audit; UPDATE semel_schema SET version = 3");
  Wire other(target_of(url_of(user_)));
  make_schema(other);
  EXPECT_EQ(schema_version(other), newest_version());
  EXPECT_EQ(called(client_, "functions_version()"), "0");
}

TEST_P(ProcedureRights, AUserWithoutTheRightToMakeThemIsTold) {
  grant("SELECT, INSERT, UPDATE, DELETE ON " + database_ + ".*");
  MySqlOptions lesser = options();
  lesser.url = url_of(user_);
  const auto refused = make_mysql_functions(lesser);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R253") << refused.error().message;
  EXPECT_NE(refused.error().hint.find("CREATE ROUTINE"), std::string::npos) << refused.error().hint;
}

TEST_P(ProcedureRights, TheirOwnerNeedsNoRightOfAnAdministrator) {
  grant("ALL ON " + database_ + ".*");
  ASSERT_TRUE(drop_mysql_functions(options()).has_value());
  MySqlOptions owner = options();
  owner.url = url_of(user_);
  const auto made = make_mysql_functions(owner);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(claimed(client_, "k"), "new");
}

TEST_P(ProcedureRights, DroppedProceduresLeaveTheRecords) {
  EXPECT_EQ(claimed(client_, "k"), "new");
  sql("CREATE PROCEDURE semel_internal_session_time() SELECT 0");
  ASSERT_TRUE(drop_mysql_functions(options()).has_value());
  EXPECT_EQ(procedures(), "0");
  ASSERT_TRUE(drop_mysql_functions(options()).has_value());
  ASSERT_TRUE(make_mysql_functions(options()).has_value());
  const std::string all = procedures();
  ASSERT_TRUE(make_mysql_functions(options()).has_value());
  EXPECT_EQ(procedures(), all);
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
}

TEST_P(ProcedureRights, NothingOfTheCallersStandsBeforeTheTables) {
  grant("EXECUTE ON " + database_ + ".*");
  const std::string own = database_ + "_own";
  sql("CREATE DATABASE " + own);
  grant("ALL ON " + own + ".*");
  ClientSession least(url_of(user_));
  least.ask("USE " + own);
  least.ask("CREATE TABLE semel_consumer (number BIGINT, name VARBINARY(99), ttl BIGINT)");
  least.ask("CREATE PROCEDURE semel_internal_draw(OUT number BIGINT) SET number = 0");
  EXPECT_EQ(least
                .rows(fmt::format("CALL {}.semel_begin('payments', 'k', NULL, NULL, NULL, NULL)",
                                  database_))
                .at(0)
                .at(0),
            "new");
  sql("DROP DATABASE " + own);
  EXPECT_EQ(sql("SELECT token > 0 FROM semel_record"), "1");
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureRights, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
