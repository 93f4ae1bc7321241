// Records past their ttl are forgotten, part by part, and no others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/mysql.h>

#include <atomic>
#include <functional>
#include <future>
#include <utility>

#include "stores/mysql/url.h"
#include "stores/mysql/wire.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;

// Time passes at each look: so a budget allows the same work on any machine.
class SteppingClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() noexcept override {
    const int look = ++looks_;
    if (look == look_.load()) std::exchange(then_, {})();
    return std::chrono::steady_clock::time_point(1h + kStep * look);
  }
  // Runs `then` at the given number of looks from now.
  void at_look(int number, std::function<void()> then) {
    then_ = std::move(then);
    look_ = looks_ + number;
  }
  bool waits() const { return static_cast<bool>(then_); }
  static constexpr std::chrono::milliseconds kStep{1};

 private:
  std::atomic<int> looks_{0};
  std::atomic<int> look_{0};
  std::function<void()> then_;
};

class MySqlSweep : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  MySqlSweep() : database_(server().new_database()), store_(open()) {
    consumer_ = store_->attach({"payments", "recipe", false, kTtl}).value();
    sql("CREATE TABLE digit (d INT PRIMARY KEY)");
    sql("INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
  }

  static const test::MySqlFamilyServer& server() { return GetParam()(); }
  std::string sql(const std::string& text) const { return server().query(database_, text); }
  // A store as in a separate process.
  std::unique_ptr<Store> open() {
    MySqlOptions options;
    options.url = server().url(database_);
    options.environment = &environment_;
    auto store = open_mysql(options);
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return *std::move(store);
  }
  // 10,000 successive records, completed `ago`; numbers 0 to 9999, of which those that satisfy
  // `which` are added.
  void add(std::chrono::milliseconds ago, const std::string& which = "TRUE",
           const std::string& state = "completed") const {
    sql(fmt::format(
        "INSERT INTO semel_record (id, generation, state, fingerprint, changed_at) "
        "SELECT CONCAT(LEFT(UNHEX(LPAD(HEX({} * 4 + 1), 8, '0')), 4), UNHEX(LPAD(HEX(n), 32, "
        "'0'))), "
        "(SELECT MAX(number) FROM semel_generation WHERE ttl IS NOT NULL), '{}', "
        "x'00112233445566778899aabbccddeeff', UTC_TIMESTAMP(6) - INTERVAL {} SECOND FROM "
        "(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n FROM digit a JOIN digit b JOIN digit "
        "c "
        "JOIN digit e) AS numbers WHERE {}",
        static_cast<std::uint32_t>(consumer_), state,
        std::chrono::duration_cast<std::chrono::seconds>(ago).count(), which));
  }
  std::string count(const std::string& which = "TRUE") const {
    return sql("SELECT COUNT(*) FROM semel_record WHERE " + which);
  }
  // Purges all that is due.
  std::size_t purge(Store& store) const {
    std::size_t records = 0;
    for (bool more = true; more;) {
      const auto report = store.purge(1s);
      if (!report) {
        ADD_FAILURE() << report.error().message;
        break;
      }
      records += report->records;
      more = report->more;
    }
    return records;
  }

  static constexpr std::chrono::milliseconds kTtl = 1h;
  SteppingClock clock_;
  Environment environment_{&clock_, system_environment().random, system_environment().failpoints};
  std::string database_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

TEST_P(MySqlSweep, ForgetsWhatIsPastAndNothingElse) {
  add(2h, "n < 6000");
  add(10min, "n >= 6000 AND n % 2 = 0");
  add(2h, "n >= 6000 AND n % 4 = 1");
  add(2h, "n >= 6000 AND n % 4 = 3", "dead");
  EXPECT_EQ(purge(*store_), 7000U);
  EXPECT_EQ(count(), "3000");
  EXPECT_EQ(count("state = 'dead'"), "1000") << "not completed, and its time is another's to tell";
  EXPECT_EQ(sql("SELECT place IS NULL FROM semel_sweep"), "1") << "it came to the end";
}

TEST_P(MySqlSweep, WhatStandsInTheInboxGoesWithItsRecord) {
  add(2h, "n < 10");
  sql("UPDATE semel_record SET inbox = 5000 WHERE id LIKE CONCAT('%', UNHEX('05'))");
  sql("INSERT INTO semel_inbox (row_id, consumer, received_at) VALUES (5000, 1, UTC_TIMESTAMP(6)), "
      "(5001, 1, UTC_TIMESTAMP(6))");
  EXPECT_EQ(purge(*store_), 10U);
  EXPECT_EQ(sql("SELECT row_id FROM semel_inbox"), "5001");
}

TEST_P(MySqlSweep, GoesOnWhereItStoppedAlsoInAnotherProcess) {
  add(2h);
  const auto first = store_->purge(5 * SteppingClock::kStep);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_TRUE(first->more);
  EXPECT_GT(first->records, 0U);
  EXPECT_LT(first->records, 10'000U);
  EXPECT_EQ(sql("SELECT place IS NULL FROM semel_sweep"), "0");
  // Before its place.
  add(2h, "n = 0");
  const auto other = open();
  const auto second = other->purge(5 * SteppingClock::kStep);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->records, first->records) << "a part";
  EXPECT_EQ(count("id LIKE CONCAT('%', UNHEX('00000000'))"), "1");
  EXPECT_EQ(purge(*other), 10'001U - 2 * first->records);
  EXPECT_EQ(count(), "0") << "who begins looks at all of it, behind what another left to do";
}

// The looks of a purge: when it begins, when it checks the clock, after the journals, before each
// consumer, before each part.
TEST_P(MySqlSweep, ATtlThatGrowsMeanwhileIsKept) {
  constexpr int kFirstPart = 5;
  add(2h);
  const auto other = open();
  clock_.at_look(kFirstPart, [&] {
    EXPECT_TRUE(other->attach({"payments", "recipe", false, 48 * kTtl}).has_value());
  });
  EXPECT_EQ(purge(*store_), 0U);
  ASSERT_FALSE(clock_.waits());
  EXPECT_EQ(count(), "10000");
}

TEST_P(MySqlSweep, ATtlAndItsGenerationAreCommittedTogether) {
  const auto ttl = [&] { return sql("SELECT ttl FROM semel_consumer"); };
  const std::string before = ttl();
  // Nobody else adds a generation.
  Wire other(target_of(server().url(database_)));
  other.send("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  other.send("START TRANSACTION");
  other.send("SELECT * FROM semel_generation FOR UPDATE");
  ASSERT_FALSE(other.run(Loss::kNothingDone).refused.has_value());
  auto changed = std::async(std::launch::async, [&] {
    return store_->attach({"payments", "recipe", false, kTtl / 2}).has_value();
  });
  EXPECT_TRUE(test::comes_true([&] { return server().lock_waiters(database_) == 1; }));
  EXPECT_EQ(ttl(), before);
  other.send("COMMIT");
  ASSERT_FALSE(other.run(Loss::kNothingDone).refused.has_value());
  EXPECT_TRUE(changed.get());
  EXPECT_NE(ttl(), before);
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_generation AS g JOIN semel_consumer AS c "
                "ON c.ttl = g.ttl AND g.state = 'active'"),
            "1");
}

TEST_P(MySqlSweep, BeginsAgainWhenAPartOfTheTtlIsOver) {
  EXPECT_EQ(purge(*store_), 0U);
  add(2h, "n < 10");
  EXPECT_EQ(purge(*store_), 0U) << "all of it was looked at just now";
  const auto other = open();
  EXPECT_EQ(purge(*other), 10U) << "who begins looks at all of it";
  add(2h, "n < 10");
  sql("UPDATE semel_sweep SET begun_at = begun_at - INTERVAL 8 MINUTE");
  EXPECT_EQ(purge(*store_), 10U);
}

TEST_P(MySqlSweep, WhatOthersHaveInHandHoldsNobodyUp) {
  add(2h, "n % 2 = 0");
  // Contains a key that a unit has just claimed, and another that is not past its ttl.
  Wire other(target_of(server().url(database_)));
  other.send("START TRANSACTION");
  other.send(fmt::format(
      "INSERT INTO semel_record (id, generation, fingerprint, changed_at) VALUES "
      "(CONCAT(LEFT(UNHEX(LPAD(HEX({} * 4 + 1), 8, '0')), 4), UNHEX(LPAD(HEX(4001), 32, '0'))), 1, "
      "x'00112233445566778899aabbccddeeff', UTC_TIMESTAMP(6))",
      static_cast<std::uint32_t>(consumer_)));
  ASSERT_FALSE(other.run(Loss::kNothingDone).refused.has_value());
  add(1min, "n % 1000 = 1 AND n <> 4001");
  // The other never releases its key: a purge that waits for it is refused in the end.
  EXPECT_EQ(purge(*store_), 5000U);
}

// The records are completed (n % 3 = 0), gone (1) or being worked on (2).
TEST_P(MySqlSweep, JournalsGoInAFewRoundTripsForHundredsOfThem) {
  add(10min, "n < 1500 AND n % 3 = 0");
  add(10min, "n < 1500 AND n % 3 = 2", "consuming");
  sql(
      fmt::format("INSERT INTO semel_step (record, name, business, state, place, round, attempts, "
                  "tries, kept_at) SELECT CONCAT(LEFT(UNHEX(LPAD(HEX({} * 4 + 1), 8, '0')), 4), "
                  "UNHEX(LPAD(HEX(n), 32, '0'))), name, '', 'done', 1, 0, 0, 0, UTC_TIMESTAMP(6) "
                  "FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n FROM digit a JOIN "
                  "digit b JOIN digit c JOIN digit e) AS numbers JOIN (SELECT 'a' AS name UNION "
                  "SELECT 'b') AS names WHERE n < 1500",
                  static_cast<std::uint32_t>(consumer_)));
  // Somebody else has the record of one that stays.
  Wire other(target_of(server().url(database_)));
  other.send("START TRANSACTION");
  other.send("SELECT 1 FROM semel_record WHERE state = 'consuming' ORDER BY id LIMIT 1 FOR UPDATE");
  ASSERT_FALSE(other.run(Loss::kNothingDone).refused.has_value());
  test::TcpProxy proxy(server().port());
  MySqlOptions options;
  options.url = fmt::format("mysql://root@127.0.0.1:{}/{}", proxy.port(), database_);
  const auto store = open_mysql(options).value();
  EXPECT_EQ(purge(*store), 0U);
  EXPECT_GT(proxy.round_trips(), 0U);
  EXPECT_LT(proxy.round_trips(), 100U) << "each turn looks, and removes";
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_step"), "1000");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_step AS s JOIN semel_record AS r ON r.id = s.record "
                "WHERE r.state = 'consuming'"),
            "1000")
      << "those that are being worked on";
}

// It keeps a step of its own, which would otherwise be done twice.
TEST_P(MySqlSweep, AStepOfARecordThatComesAgainStays) {
  add(10min, "n = 7", "consuming");
  sql("INSERT INTO semel_step (record, name, business, state, place, round, attempts, tries, "
      "kept_at) SELECT id, 'a', '', 'done', 1, 0, 0, 0, UTC_TIMESTAMP(6) FROM semel_record");
  sql("CREATE TABLE kept AS SELECT * FROM semel_record");
  sql("DELETE FROM semel_record");
  Wire other(target_of(server().url(database_)));
  other.send("START TRANSACTION");
  other.send("INSERT INTO semel_record SELECT * FROM kept");
  other.send("UPDATE semel_step SET place = 2");
  ASSERT_FALSE(other.run(Loss::kNothingDone).refused.has_value());
  auto purging = std::async(std::launch::async, [&] { return store_->purge(1s); });
  EXPECT_TRUE(test::comes_true([&] {
    return server().lock_waiters(database_) == 1 ||
           purging.wait_for(0s) == std::future_status::ready;
  }));
  other.send("COMMIT");
  ASSERT_FALSE(other.run(Loss::kNothingDone).refused.has_value());
  const auto report = purging.get();
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(sql("SELECT place FROM semel_step"), "2");
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlSweep, testing::ValuesIn(test::shared_mysql_servers()),
                         [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

}  // namespace
}  // namespace semel::mysql
