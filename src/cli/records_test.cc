// The records of a loop of your own, by the config that docs/guard.md shows: the store alone.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <semel/guard.h>
#include <semel/sqlite.h>

#include "cli/exit_code.h"
#include "cli/test_program.h"
#include "tests/support/temp_dir.h"

namespace semel::cli {
namespace {

constexpr const char* kLeftOut = " of consumers that are not in the config: --consumer NAME";

class RecordsOfAGuard : public testing::Test {
 protected:
  RecordsOfAGuard()
      : store_(open_sqlite({.path = folder_.file("s.db")}).value()),
        once_(*store_, {.consumer = "once", .at_most_once = true}),
        orders_(*store_, {.consumer = "orders"}) {
    config("");
    for (const char* key : {"a", "b", "c"}) park(key);
  }

  void config(const std::string& consumers) {
    test::write_file(config_,
                     "store: { sqlite: { path: " + folder_.file("s.db") + " } }\n" + consumers);
  }
  void with_payments() {
    config(
        "consumers:\n  - name: payments\n    source: { queue: {} }\n    key: json:/id\n"
        "    handler: { exec: ./payment.sh }\n");
  }

  Outcome once(const std::string& key) {
    ++calls_;
    return once_.run_once(key, fingerprint_of(key), [] { return done(); }).value();
  }
  void park(const std::string& key) {
    const auto fails = []() -> Verdict { throw std::runtime_error("cut off"); };
    EXPECT_THROW((void)once_.run_once(key, fingerprint_of(key), fails), std::runtime_error);
  }
  Outcome::Kind order(const std::string& key, const Verdict& verdict) {
    return orders_.run_once(key, fingerprint_of(key), [&] { return verdict; }).value().kind;
  }

  int run(std::vector<std::string> words) {
    words.insert(words.end(), {"-c", config_});
    ProgramRan ran = run_program(std::move(words), {add_records, add_dlq});
    out_ = std::move(ran.out);
    err_ = std::move(ran.err);
    return ran.code;
  }
  bool says(const std::string& text) const { return err_.find(text) != std::string::npos; }
  bool shows(const std::string& text) const { return out_.find(text) != std::string::npos; }

  const test::TempDir folder_;
  const std::string config_ = folder_.file("semel.yaml");
  const std::unique_ptr<Store> store_;
  Guard once_;
  Guard orders_;
  int calls_ = 0;
  std::string out_;
  std::string err_;
};

TEST_F(RecordsOfAGuard, AListSaysThatThereAreSomeAndShowsThemByName) {
  EXPECT_EQ(run({"records", "list", "--state", "parked"}), kOk);
  EXPECT_TRUE(says("no such records")) << err_;
  EXPECT_TRUE(says(std::string("3") + kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "list", "--state", "dead"}), kOk);
  EXPECT_FALSE(says(kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "list", "--where", "key=a"}), kOk);
  EXPECT_TRUE(says(std::string("1") + kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "list", "-o", "json"}), kOk);
  EXPECT_TRUE(says(std::string("3") + kLeftOut)) << err_;
  for (const std::vector<std::string>& by :
       {std::vector<std::string>{"--consumer", "once"}, {"--where", "consumer=once"}}) {
    std::vector<std::string> words = {"records", "list", "--state", "parked"};
    words.insert(words.end(), by.begin(), by.end());
    EXPECT_EQ(run(words), kOk) << err_;
    for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(shows(std::string(" ") + key)) << out_;
    EXPECT_FALSE(says(kLeftOut)) << err_;
  }
}

TEST_F(RecordsOfAGuard, ARecordIsShownUnderItsConsumer) {
  EXPECT_EQ(run({"records", "show", "a"}), kNothing);
  EXPECT_TRUE(says("no record of \"a\"")) << err_;
  EXPECT_TRUE(says(std::string("1") + kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "show", "a", "--consumer", "once"}), kOk) << err_;
  EXPECT_TRUE(shows("parked")) << out_;
  EXPECT_FALSE(says(kLeftOut)) << err_;
}

TEST_F(RecordsOfAGuard, APersonDecidesByKeyAndByFilter) {
  EXPECT_EQ(run({"records", "unlock", "a", "--as", "done", "--yes"}), kNothing);
  EXPECT_TRUE(says(std::string("1") + kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "unlock", "a", "--as", "done", "--yes", "--consumer", "once"}), kOk)
      << err_;
  EXPECT_EQ(once("a").kind, Outcome::Kind::kDuplicate);
  EXPECT_EQ(run({"records", "unlock", "b", "--as", "retry", "--yes", "--consumer", "once"}), kOk)
      << err_;
  EXPECT_EQ(once("b").kind, Outcome::Kind::kDone);
  EXPECT_EQ(run({"records", "forget", "--where", "state=parked", "--yes"}), kNothing);
  EXPECT_TRUE(says(std::string("1") + kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "forget", "--where", "consumer=once and state=parked", "--yes"}), kOk)
      << err_;
  EXPECT_EQ(once("c").kind, Outcome::Kind::kDone);
}

TEST_F(RecordsOfAGuard, ADeadKeyIsOpenedAgain) {
  ASSERT_EQ(order("o-1", dead("no such item")), Outcome::Kind::kDead);
  ASSERT_EQ(order("o-1", done()), Outcome::Kind::kDead);
  EXPECT_EQ(run({"records", "unlock", "o-1", "--consumer", "orders", "--yes"}), kOk) << err_;
  EXPECT_EQ(order("o-1", done()), Outcome::Kind::kDone);
}

TEST_F(RecordsOfAGuard, BesideConsumersOfTheConfigTheyAreNamedToo) {
  with_payments();
  EXPECT_EQ(run({"records", "list"}), kOk) << err_;
  EXPECT_TRUE(says(std::string("3") + kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "list", "--consumer", "payments"}), kOk) << err_;
  EXPECT_FALSE(says(kLeftOut)) << err_;
  EXPECT_EQ(run({"records", "show", "a", "--consumer", "once"}), kOk) << err_;
}

TEST_F(RecordsOfAGuard, ANameThatNobodyHasIsRefusedWithThoseThatAreThere) {
  EXPECT_EQ(run({"records", "list", "--consumer", "onec"}), kUsage);
  EXPECT_TRUE(says("there is no consumer \"onec\"")) << err_;
  EXPECT_TRUE(says("did you mean \"once\"?")) << err_;
  EXPECT_EQ(run({"records", "unlock", "a", "--consumer", "nobody", "--yes"}), kUsage);
  EXPECT_TRUE(says("once, orders")) << err_;
}

}  // namespace
}  // namespace semel::cli
