// Messages sent under a Guard leave with its record, also in the caller's own transaction.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>

#include <semel/guard.h>
#include <semel/sqlite.h>

#include "tests/producer/consumption.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

using Kind = Outcome::Kind;

class GuardOutbox : public testing::Test {
 protected:
  GuardOutbox() {
    write_file(config_, fmt::format("version: 1\nstore: {{ sqlite: {} }}\nconsumers:\n"
                                    "  - name: mails\n    source: {{ queue: {{}} }}\n"
                                    "    key: json:/id\n    strategy: state_machine\n"
                                    "    handler: {{ native: mails }}\n",
                                    database_));
  }
  GuardOptions options(Store& store) const {
    auto queues = queues_of(store, config_);
    EXPECT_TRUE(queues) << queues.error().message;
    GuardOptions made;
    made.consumer = "payments";
    if (queues) made.receivers = *std::move(queues);
    return made;
  }
  static OutgoingMessage a_mail() {
    OutgoingMessage mail;
    mail.payload = "{}";
    return mail;
  }
  static auto mailing(const char* to = "mails") {
    return [to](Transaction& tx) { tx.publish(to, a_mail()); };
  }
  std::map<std::string, int> mailed() const { return consume_config(config_, "mails").effects; }

  TempDir folder_;
  const std::string config_ = folder_.file("semel.yaml");
  const std::string database_ = folder_.file("semel.db");
  const Fingerprint body_ = fingerprint_of("{}");
};

TEST_F(GuardOutbox, WhatIsSentHasTheKeyOfTheWorkAndLeavesOnce) {
  {
    auto store = open_sqlite({.path = database_});
    ASSERT_TRUE(store);
    auto queues = queues_of(**store, config_);
    ASSERT_TRUE(queues);
    Guard guard(**store, {.consumer = "payments", .receivers = *queues});
    auto outcome = guard.run_once("p-1", body_, [](Transaction& tx) {
      tx.publish("mails", a_mail());
      return done();
    });
    EXPECT_EQ(outcome->kind, Kind::kDone);
    EXPECT_EQ(guard.run_once("p-1", body_, mailing())->kind, Kind::kDuplicate);
    const auto undone = guard.run_once("p-2", body_, [](Transaction& tx) {
      tx.publish("mails", a_mail());
      return retry("not now");
    });
    EXPECT_EQ(undone->kind, Kind::kRetry);
    // Under a lease, elsewhere than in a transaction.
    const auto plain = guard.run_once("p-3", body_, [] { return done({}, {{"mails", a_mail()}}); });
    EXPECT_EQ(plain->kind, Kind::kDone);
  }
  EXPECT_EQ(mailed(), (std::map<std::string, int>{{"payments/p-1", 1}, {"payments/p-3", 1}}));
}

TEST_F(GuardOutbox, TwoConsumersUnderOneKeySendTwoMessages) {
  {
    auto store = open_sqlite({.path = database_});
    ASSERT_TRUE(store);
    for (const char* const consumer : {"payments", "refunds"}) {
      GuardOptions with_queues = options(**store);
      with_queues.consumer = consumer;
      Guard guard(**store, with_queues);
      EXPECT_EQ(guard.run_once("p-1", body_, mailing())->kind, Kind::kDone);
    }
  }
  EXPECT_EQ(mailed(), (std::map<std::string, int>{{"payments/p-1", 1}, {"refunds/p-1", 1}}));
}

TEST_F(GuardOutbox, WhoIsNoReceiverIsNamedAndNothingIsRecorded) {
  auto store = open_sqlite({.path = database_});
  ASSERT_TRUE(store);
  Guard guard(**store, options(**store));
  const auto outcome = guard.run_once("p-1", body_, mailing("males"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->kind, Kind::kRetry);
  EXPECT_NE(outcome->error.find("males"), std::string::npos) << outcome->error;
  EXPECT_EQ(guard.run_once("p-1", body_, mailing())->kind, Kind::kDone);
}

TEST_F(GuardOutbox, InTheCallersTransactionItsCommitDecides) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(database_.c_str(), &handle), SQLITE_OK);
  const auto sql = [&](const char* text) {
    ASSERT_EQ(sqlite3_exec(handle, text, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
  };
  {
    auto store = borrow_sqlite(handle, {.create_tables = true});
    ASSERT_TRUE(store) << store.error().message;
    sql("BEGIN");
    GuardOptions with_queues = options(**store);
    Guard guard(**store, with_queues);
    sql("COMMIT");
    sql("BEGIN");
    EXPECT_EQ(guard.run_once("p-1", body_, mailing())->kind, Kind::kDone);
    sql("ROLLBACK");
    sql("BEGIN");
    EXPECT_EQ(guard.run_once("p-2", body_, mailing())->kind, Kind::kDone);
    sql("COMMIT");
    sql("BEGIN");
    EXPECT_EQ(guard.run_once("p-2", body_, mailing())->kind, Kind::kDuplicate);
    sql("COMMIT");
  }
  sqlite3_close(handle);
  EXPECT_EQ(mailed(), (std::map<std::string, int>{{"payments/p-2", 1}}));
}

}  // namespace
}  // namespace semel::test
