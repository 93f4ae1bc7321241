// A store over the caller's own connection and transaction.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string_view>
#include <utility>

#include "stores/sqlite/test_place.h"

namespace semel::sqlite {
namespace {

class BorrowedTest : public SqliteTest {
 protected:
  BorrowedTest() {
    sqlite3_open(path_.c_str(), &handle_);
    run("PRAGMA journal_mode = WAL; CREATE TABLE effect (name TEXT)");
    store_ = borrow_store(handle_, true, clock_).value();
    consumer_ = attach(*store_);
  }
  ~BorrowedTest() override {
    store_.reset();
    EXPECT_EQ(sqlite3_close(handle_), SQLITE_OK) << "nothing of the store is left on it";
  }
  void run(const char* text) {
    ASSERT_EQ(sqlite3_exec(handle_, text, nullptr, nullptr, nullptr), SQLITE_OK)
        << text << ": " << sqlite3_errmsg(handle_);
  }
  Message message(const std::string& key) const { return test::make_message(consumer_, key); }
  // Claims, makes its effect, finishes, releases. Returns the claim's answer.
  Claim handle(const Message& m, const char* effect = "INSERT INTO effect VALUES ('made')") {
    auto unit = store_->facets().transactional->begin({}).value();
    const Message* const one = &m;
    const Claim claimed = unit->claim({&one, 1}).value().at(0);
    const auto* acquired = std::get_if<Acquired>(&claimed);
    if (acquired == nullptr) return claimed;
    RecordedStatement statement;
    statement.statement = admit_statement(effect).value();
    unit->run(0, {statement});
    EXPECT_TRUE(unit->flush().value().failed.empty());
    const Finish done = test::completed(acquired->lease);
    EXPECT_TRUE(unit->finish({&done, 1}).has_value());
    EXPECT_TRUE(unit->commit().has_value());
    return claimed;
  }

  // Another process adds this row after an attach found no such consumer, before it writes.
  void add_meanwhile(const char* row) {
    meanwhile_ = row;
    sqlite3_trace_v2(
        handle_, SQLITE_TRACE_STMT,
        [](unsigned, void* self, void*, void* text) {
          auto& test = *static_cast<BorrowedTest*>(self);
          const std::string_view statement = static_cast<const char*>(text);
          if (!statement.starts_with("BEGIN") && !statement.starts_with("INSERT")) return 0;
          if (const std::string what = std::exchange(test.meanwhile_, {}); !what.empty()) {
            test.sql("INSERT INTO semel_consumer (name, recipe_hash, ttl) VALUES " + what);
          }
          return 0;
        },
        this);
  }
  std::string consumer_row(const std::string& name) {
    const auto row = sql("SELECT recipe_hash, ttl FROM semel_consumer WHERE name = '" + name + "'");
    return row.at(0).at(0) + ", " + row.at(0).at(1);
  }

  std::string meanwhile_;
  sqlite3* handle_ = nullptr;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

TEST_F(BorrowedTest, TheCallersCommitDecides) {
  const Message m = message("m");
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(m)));
  EXPECT_EQ(sqlite3_get_autocommit(handle_), 0) << "the caller's transaction goes on";
  run("ROLLBACK");
  EXPECT_EQ(one("SELECT count(*) FROM effect"), "0");
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(m)));
  run("COMMIT");
  EXPECT_EQ(one("SELECT count(*) FROM effect"), "1");
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Completed>(handle(m)));
  run("COMMIT");
  EXPECT_EQ(one("SELECT count(*) FROM effect"), "1");
  const auto own = open();
  attach(*own);
  EXPECT_TRUE(is_completed(*own, m)) << "one record, however it is met";
}

// The inner unit seals the generation that the outer one has claimed in.
TEST_F(BorrowedTest, AUnitWithinAnotherMayBeginAGeneration) {
  const Message outer = message("outer");
  const Message* const one_outer = &outer;
  run("BEGIN");
  auto unit = store_->facets().transactional->begin({}).value();
  const Claim claimed = unit->claim({&one_outer, 1}).value().at(0);
  ASSERT_TRUE(std::holds_alternative<Acquired>(claimed));
  const auto generations = [this] { return one("SELECT count(*) FROM semel_generation"); };
  clock_->advance(std::chrono::hours(24) * 6);
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(message("inner"))));
  const Finish done = test::completed(std::get<Acquired>(claimed).lease);
  EXPECT_EQ(unit->finish({&done, 1}).value(), std::vector{Applied::kYes});
  EXPECT_TRUE(unit->commit().has_value());
  unit.reset();
  run("COMMIT");
  EXPECT_EQ(generations(), "2");
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Completed>(handle(outer)));
  run("COMMIT");
}

TEST_F(BorrowedTest, WithoutATransactionItIsRefused) {
  const auto unit = store_->facets().transactional->begin({});
  ASSERT_FALSE(unit.has_value());
  EXPECT_EQ(unit.error().code, "R208");
  EXPECT_EQ(unit.error().kind, ErrorKind::kRejected);
  const Message m = message("m");
  const Message* const one = &m;
  EXPECT_EQ(store_->claim({&one, 1}, {}).error().code, "R208");
  EXPECT_EQ(store_->facets().held, nullptr);
}

TEST_F(BorrowedTest, AUnitThatIsGivenUpLeavesTheCallersOwnWork) {
  const Message m = message("m");
  run("BEGIN; INSERT INTO effect VALUES ('the caller''s')");
  {
    auto unit = store_->facets().transactional->begin({}).value();
    const Message* const one = &m;
    ASSERT_TRUE(unit->claim({&one, 1}).has_value());
  }
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(m)));
  run("COMMIT");
  EXPECT_EQ(one("SELECT group_concat(name) FROM effect"), "the caller's,made");
}

TEST_F(BorrowedTest, ItsSettingsStayAsTheyAre) {
  int asked = 0;
  sqlite3_set_authorizer(
      handle_,
      [](void* count, int, const char*, const char*, const char*, const char*) {
        ++*static_cast<int*>(count);
        return SQLITE_OK;
      },
      &asked);
  const std::string sync = [&] {
    std::string answer;
    sqlite3_exec(
        handle_, "PRAGMA synchronous",
        [](void* into, int, char** values, char**) {
          *static_cast<std::string*>(into) = values[0];
          return 0;
        },
        &answer, nullptr);
    return answer;
  }();
  EXPECT_EQ(sync, "2");
  run("BEGIN");
  handle(message("m"));
  run("COMMIT");
  EXPECT_GT(asked, 0) << "the caller's authorizer is still asked";
  sqlite3_set_authorizer(handle_, nullptr, nullptr);
}

TEST_F(BorrowedTest, ASchemaThatEndsTheTransactionIsNoticed) {
  run("CREATE TABLE guarded (a INTEGER)");
  run("CREATE TRIGGER guard BEFORE INSERT ON guarded BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
  run("BEGIN");
  {
    auto unit = store_->facets().transactional->begin({}).value();
    const Message m = message("m");
    const Message* const one = &m;
    ASSERT_TRUE(unit->claim({&one, 1}).has_value());
    RecordedStatement statement;
    statement.statement = admit_statement("INSERT INTO guarded VALUES (1)").value();
    unit->run(0, {statement});
    const FlushReport report = unit->flush().value();
    EXPECT_TRUE(report.all_undone);
    ASSERT_EQ(report.failed.size(), 1U);
    EXPECT_FALSE(unit->commit().has_value());
  }
  EXPECT_EQ(sqlite3_get_autocommit(handle_), 1) << "the caller must begin again";
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(message("m"))));
  run("COMMIT");
}

TEST_F(BorrowedTest, AConsumerAttachedInVainKeepsItsNumberOrIsRefused) {
  run("BEGIN");
  const ConsumerNumber shaky = attach(*store_, "shaky");
  run("ROLLBACK");
  run("BEGIN");
  const Message m = test::make_message(shaky, "m");
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(m)));
  run("COMMIT");
  EXPECT_EQ(one("SELECT number FROM semel_consumer WHERE name = 'shaky'"),
            std::to_string(static_cast<std::uint32_t>(shaky)));

  run("BEGIN");
  attach(*store_, "late");
  run("ROLLBACK");
  {
    const auto own = open();
    attach(*own, "someone else");
  }
  run("BEGIN");
  const auto unit = store_->facets().transactional->begin({});
  ASSERT_FALSE(unit.has_value()) << "its number is another's now";
  EXPECT_EQ(unit.error().code, "R208");
  run("ROLLBACK");
}

// Its holder still goes by the number: under another name, that one's keys would be its own.
TEST_F(BorrowedTest, AConsumerAttachedInVainSharesItsNumberWithNobody) {
  run("BEGIN");
  const ConsumerNumber late = attach(*store_, "late");
  run("ROLLBACK");
  const ConsumerNumber other = attach(*store_, "other");
  EXPECT_NE(other, late);
  for (const ConsumerNumber number : {late, other}) {
    run("BEGIN");
    const Message m = test::make_message(number, "k");
    EXPECT_TRUE(std::holds_alternative<Acquired>(handle(m)));
    run("COMMIT");
  }
  EXPECT_EQ(attach(*store_, "late"), late);
}

TEST_F(BorrowedTest, AConsumerThatAnotherProcessAddsMeanwhileKeepsItsRecipe) {
  add_meanwhile("('raced', 'another recipe', 5)");
  const auto refused = store_->attach({"raced", "recipe", false, 10ms});
  ASSERT_TRUE(meanwhile_.empty()) << "it was added";
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R220");
  EXPECT_EQ(sqlite3_get_autocommit(handle_), 1) << "no transaction is left open";
  EXPECT_EQ(consumer_row("raced"), "another recipe, 5");
  EXPECT_TRUE(store_->attach({"raced", "recipe", true, 10ms}).has_value());
  EXPECT_EQ(consumer_row("raced"), "recipe, 10");
}

TEST_F(BorrowedTest, AnAcceptedRecipeIsWrittenOverTheOneThatAnotherProcessAdds) {
  add_meanwhile("('raced', 'another recipe', 5)");
  const auto number = store_->attach({"raced", "recipe", true, 10ms});
  ASSERT_TRUE(meanwhile_.empty()) << "it was added";
  ASSERT_TRUE(number.has_value()) << number.error().message;
  EXPECT_EQ(consumer_row("raced"), "recipe, 10");
  EXPECT_EQ(one("SELECT number FROM semel_consumer WHERE name = 'raced'"),
            std::to_string(static_cast<std::uint32_t>(*number)));
}

TEST_F(BorrowedTest, ALongerTtlHoldsForWhatIsThere) {
  consumer_ = attach(*store_, "payments", 1h);
  const Message m = message("m");
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(m)));
  run("COMMIT");
  attach(*store_, "payments", 48h);
  const auto own = open();
  clock_->advance(24h);
  ASSERT_TRUE(own->purge(10s).has_value());
  ASSERT_TRUE(own->purge(10s).has_value());
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Completed>(handle(m)));
  run("COMMIT");
  clock_->advance(48h);
  ASSERT_TRUE(own->purge(10s).has_value());
  run("BEGIN");
  EXPECT_TRUE(std::holds_alternative<Acquired>(handle(m))) << "or the test is about nothing";
  run("COMMIT");
}

TEST_F(BorrowedTest, TablesMustBeThere) {
  sqlite3* bare = nullptr;
  sqlite3_open(folder_.file("bare.db").c_str(), &bare);
  auto store = borrow_store(bare, false, clock_);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, "R207");
  EXPECT_FALSE(borrow_store(nullptr, true, clock_).has_value());
  sqlite3_exec(bare, "BEGIN", nullptr, nullptr, nullptr);
  store = borrow_store(bare, true, clock_);
  EXPECT_TRUE(store.has_value()) << "in the caller's transaction too";
  store->reset();
  sqlite3_exec(bare, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(bare);
}

}  // namespace
}  // namespace semel::sqlite
