// Tables of version 1 are brought up to date with their rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/admin/audit.h>
#include <semel/admin/records.h>
#include <semel/mysql.h>
#include <semel/spi/run_markers.h>

#include <thread>

#include "stores/mysql/schema.h"
#include "stores/mysql/store.h"
#include "stores/mysql/url.h"
#include "tests/support/builders.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;

class MySqlMigration : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  // As a program of version 1 left it: m-0 is done, m-1 is held by process 7, m-2 is dead.
  MySqlMigration() : database_(server().new_database()) {
    for (const std::string& statement : migration_sql(0, 1)) sql(statement);
    sql(fmt::format("INSERT INTO semel_consumer VALUES ({}, 'payments', 'recipe', NULL)", kNumber));
    sql("INSERT INTO semel_generation VALUES (1, NULL, 'active', NOW(6), NULL)");
    sql("INSERT INTO semel_instance VALUES (7, 4711, 'elsewhere', NOW(6))");
    add(0, "'completed'", "NULL");
    add(1, "'consuming'", "7");
    add(2, "'dead'", "NULL");
  }

  static const test::MySqlFamilyServer& server() { return GetParam()(); }
  std::string url() const { return server().url(database_); }
  std::string sql(const std::string& text) const { return server().query(database_, text); }
  static std::vector<Message> messages() {
    return test::make_messages(static_cast<ConsumerNumber>(kNumber), "m-", 4);
  }
  void add(std::size_t at, const char* state, const char* holder) const {
    const Message message = messages()[at];
    const auto hex = [](BytesView bytes) {
      std::string text;
      for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
      return text;
    };
    sql(fmt::format(
        "INSERT INTO semel_record (id, generation, state, fingerprint, changed_at, "
        "nonce, lease_until, attempt, outcome_unknown, first_seen, holder, message_key) "
        "VALUES (x'{}', 1, {}, x'{}', NOW(6), x'00000000000000000000000000000000', "
        "NOW(6) + INTERVAL 1 HOUR, 1, FALSE, NOW(6), {}, 'm-{}')",
        hex(message.key().id.view()), state, hex(message.fingerprint().view()), holder, at));
  }
  Result<std::unique_ptr<Store>> open(bool create = true) const {
    MySqlOptions options;
    options.url = url();
    options.create = create;
    InnerOptions inner;
    inner.grace = 0ms;
    return open_store(options, inner);
  }
  static std::string newest() { return std::to_string(newest_version()); }
  std::string indexes() const {
    return sql(
        "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE "
        "table_schema = DATABASE() AND table_name = 'semel_record'");
  }

  static constexpr std::int64_t kNumber = 3;
  std::string database_;
};

TEST_P(MySqlMigration, KeepsWhatIsThereAndListsWhatIsOpen) {
  ASSERT_EQ(indexes(), "2");
  const auto refused = open(false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R207");
  EXPECT_NE(refused.error().hint.find("semel store migrate"), std::string::npos);
  const auto store = open();
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_EQ(sql("SELECT version FROM semel_schema"), newest());
  EXPECT_EQ(indexes(), "1") << "each one more would cost every claim";
  EXPECT_EQ(sql("SELECT state FROM semel_record_open ORDER BY message_key"), "consuming\ndead");
  EXPECT_EQ(sql("SELECT `key`, consumer FROM semel_records_open ORDER BY `key`"),
            "m-1|payments\nm-2|payments");
  const auto listed = (*store)->facets().records->list({}, {}, 10);
  ASSERT_TRUE(listed.has_value()) << listed.error().message;
  EXPECT_EQ(listed->size(), 2U);
  // The record of a dead process is taken over before its lease has ended.
  EXPECT_TRUE((*store)->facets().runs->sweep().value());
  const auto all = messages();
  const auto claims = (*store)->claim(test::pointers(all), {}).value();
  EXPECT_TRUE(std::holds_alternative<Completed>(claims[0]));
  EXPECT_TRUE(std::holds_alternative<Acquired>(claims[1]));
  EXPECT_FALSE(std::holds_alternative<Acquired>(claims[2])) << "dead";
  EXPECT_TRUE(std::holds_alternative<Acquired>(claims[3]));
  const auto findings = (*store)->facets().records->verify(true);
  ASSERT_TRUE(findings.has_value()) << findings.error().message;
  EXPECT_EQ(findings->size(), 0U) << findings->front().what << " " << findings->front().where;
  EXPECT_TRUE((*store)->facets().audit->append(Nonce{}, {}).has_value());
  EXPECT_EQ((*store)->facets().audit->list({}, 10)->size(), 1U);
}

TEST_P(MySqlMigration, RunAgainBehindAnyOfItsStatementsChangesNothing) {
  const std::vector<std::string> statements = migration_sql(1);
  for (std::size_t done = 1; done <= statements.size(); ++done) {
    // One session: prepared statements live in it.
    Wire wire(target_of(url()));
    for (std::size_t i = 0; i < done; ++i) wire.send(statements[i]);
    const Answers answers = wire.run(Loss::kNothingDone);
    ASSERT_FALSE(answers.refused.has_value()) << statements[answers.said.size()];
  }
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_open"), "2");
  EXPECT_EQ(sql("SELECT version FROM semel_schema"), newest());
}

TEST_P(MySqlMigration, TwoAtOnceMakeItOnce) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto store = open();
      EXPECT_TRUE(store.has_value()) << store.error().message;
    });
  }
  threads.clear();
  EXPECT_EQ(sql("SELECT version FROM semel_schema"), newest());
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_open"), "2");
}

// An older process would list no record, and no one would find its records.
TEST_P(MySqlMigration, WaitsUntilNoOlderProcessWorksOnTheTables) {
  Wire older(target_of(url()));
  older.send("DO GET_LOCK(CONCAT('semel.instance.', LEFT(SHA1(DATABASE()), 16), '.', 7), 0)");
  ASSERT_FALSE(older.run(Loss::kNothingDone).refused.has_value());
  const auto refused = open();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R207");
  EXPECT_NE(refused.error().message.find("4711 on elsewhere"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(sql("SELECT version FROM semel_schema"), "1");
  EXPECT_EQ(indexes(), "2");
  older.end();
  // The server frees the lock when it notices that the session is gone.
  EXPECT_TRUE(test::comes_true([&] {
    return sql("SELECT IS_FREE_LOCK(CONCAT('semel.instance.', LEFT(SHA1(DATABASE()), 16), '.', "
               "7))") == "1";
  }));
  EXPECT_TRUE(open().has_value());
}

TEST_P(MySqlMigration, AnOpenRecordThatIsNotListedIsAFinding) {
  const auto store = open();
  ASSERT_TRUE(store.has_value()) << store.error().message;
  sql("DELETE FROM semel_open");
  const auto findings = (*store)->facets().records->verify(true).value();
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].what, "record.unlisted");
  EXPECT_TRUE(findings[0].wrong);
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlMigration, testing::ValuesIn(test::shared_mysql_servers()),
                         [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

}  // namespace
}  // namespace semel::mysql
