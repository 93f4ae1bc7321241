#include <semel/testing/test_store.h>

#include <gtest/gtest.h>

#include <filesystem>

#include <semel/guard.h>
#include <semel/memory.h>

namespace semel::testkit {
namespace {

constexpr const char* kAccount =
    "CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER);"
    "CREATE VIEW rich AS SELECT id FROM account WHERE balance > 100;"
    "INSERT INTO account VALUES ('ada', 100);";

TEST(TestStore, KeepsRecordsBesideTheTables) {
  TestStore bank(kAccount);
  Guard guard(bank.store(), {.consumer = "payments", .environment = &bank.environment().get()});
  const auto pay = [&] {
    return guard
        .run_once("p-1", fingerprint_of("5"),
                  [](Transaction& tx) {
                    tx.exec("UPDATE account SET balance = balance + 5 WHERE id = 'ada'");
                  })
        .value()
        .kind;
  };
  EXPECT_EQ(pay(), Outcome::Kind::kDone);
  EXPECT_EQ(pay(), Outcome::Kind::kDuplicate);
  EXPECT_EQ(bank.number("SELECT balance FROM account"), 105);
  const Rows rows = bank.sql("SELECT id, balance FROM account; SELECT id FROM rich;");
  EXPECT_EQ(rows.columns, std::vector<std::string>{"id"});
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_EQ(std::get<std::string>(rows.rows[0][0]), "ada");
}

TEST(TestStore, ResetMakesTheTablesAnew) {
  TestStore bank(kAccount);
  bank.sql("CREATE TABLE other(x); UPDATE account SET balance = 7;");
  bank.reset();
  EXPECT_EQ(bank.number("SELECT balance FROM account"), 100);
  EXPECT_EQ(bank.number("SELECT count(*) FROM sqlite_master WHERE name = 'other'"), 0);
  EXPECT_EQ(bank.number("SELECT count(*) FROM rich"), 0);
}

TEST(TestStore, GoesWithItsFile) {
  std::string path;
  {
    TestStore store;
    path = store.path();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

TEST(TestStore, SqlThatFailsThrows) {
  TestStore store;
  EXPECT_THROW(store.sql("SELECT x FROM nowhere"), SemelError);
  EXPECT_THROW(store.number("SELECT 'text'"), SemelError);
  EXPECT_THROW(store.number("SELECT 1 WHERE 0"), SemelError);
  EXPECT_THROW(TestStore("no SQL"), SemelError);
}

// The lease of an unfinished claim ends when the test moves the clock.
void expect_taken_over(Store& store, FakeEnvironment& environment) {
  const GuardOptions options{.consumer = "payments", .environment = &environment.get()};
  Guard first(store, options);
  Guard second(store, options);
  auto held = first.begin("p-1", fingerprint_of("5"));
  ASSERT_TRUE(held && held->claim);
  const auto busy = second.begin("p-1", fingerprint_of("5"));
  ASSERT_TRUE(busy);
  EXPECT_FALSE(busy->claim);
  EXPECT_EQ(busy->outcome.kind, Outcome::Kind::kBusy);
  environment.clock.advance(options.lease + std::chrono::seconds(1));
  auto taken = second.begin("p-1", fingerprint_of("5"));
  ASSERT_TRUE(taken && taken->claim);
  EXPECT_TRUE(taken->claim->attempt().taken_over);
  EXPECT_EQ(taken->claim->complete().value().kind, Outcome::Kind::kDone);
  EXPECT_EQ(held->claim->complete().value().kind, Outcome::Kind::kBusy);
}

TEST(FakeEnvironment, ALeaseIsOverWhenTheTestSaysSo) {
  TestStore store;
  expect_taken_over(store.store(), store.environment());
  FakeEnvironment environment;
  const auto memory = make_memory_store({.environment = &environment.get()});
  expect_taken_over(*memory, environment);
}

TEST(FakeEnvironment, ItsNumbersAreThoseOfItsSeed) {
  FakeRandom one(7);
  FakeRandom other(7);
  const auto first = one.next();
  EXPECT_EQ(other.next(), first);
  EXPECT_NE(one.next(), first);
  one.seed(7);
  EXPECT_EQ(one.next(), first);
}

}  // namespace
}  // namespace semel::testkit
