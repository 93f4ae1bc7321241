// Databases of earlier schemas, each made once by its own version: what they hold is found.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <set>

#include <semel/admin/audit.h>
#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/sqlite.h>

#include "core/key_encoding.h"
#include "tests/support/builders.h"
#include "tests/support/inputs.h"
#include "tests/support/temp_dir.h"

namespace semel {
namespace {

class GoldenTest : public testing::Test {
 protected:
  GoldenTest() : path_(dir_.file("golden.db")) {
    std::filesystem::copy_file(test::input("tests/golden/sqlite_v1.db"), path_);
  }
  std::unique_ptr<Store> open() {
    SqliteOptions options;
    options.path = path_;
    auto store = open_sqlite(options);
    EXPECT_TRUE(store) << store.error().message;
    return store ? *std::move(store) : nullptr;
  }
  test::TempDir dir_;
  const std::string path_;
};

TEST_F(GoldenTest, TheFirstSchemasRecordsAreFound) {
  const auto store = open();
  ASSERT_NE(store, nullptr);
  const StoreFacets facets = store->facets();
  const auto consumer = facets.records->consumer("payments").value();
  ASSERT_TRUE(consumer);
  for (const char* key : {"paid", "0190a5b1-7e3a-7cc2-8f00-000000000001"}) {
    const auto record = facets.records->show(core::encode_key(*consumer, key)).value();
    ASSERT_TRUE(record) << key;
    EXPECT_EQ(record->state, RecordState::kCompleted) << key;
  }
  const auto dead = facets.records->show(core::encode_key(*consumer, "dead")).value();
  ASSERT_TRUE(dead);
  EXPECT_EQ(dead->state, RecordState::kDead);
  std::multiset<std::string> reasons;
  const auto letters = facets.dead_letters->list({});
  ASSERT_TRUE(letters);
  for (const DeadLetter& letter : *letters) {
    reasons.insert(letter.reason);
  }
  EXPECT_EQ(reasons,
            (std::multiset<std::string>{"handler.sql.expect_rows", "key.conflict", "key.missing"}));
  EXPECT_EQ(facets.held->depth(*consumer)->rows, 1u);
}

TEST_F(GoldenTest, TheFirstSchemaIsBroughtUpToDate) {
  {
    const auto store = open();
    ASSERT_NE(store, nullptr);
    const auto consumer = store->facets().records->consumer("payments").value();
    ASSERT_TRUE(store->facets().gates->shut(*consumer, "by hand", std::nullopt));
    EXPECT_GT(store->facets().records->stats()->schema_version, 1);
  }
  const auto again = open();
  const auto consumer = again->facets().records->consumer("payments").value();
  EXPECT_TRUE(again->facets().gates->state(*consumer).value());
}

// The file is its owner's too: what stands in it beside the tables is no concern of a migration.
TEST_F(GoldenTest, ViewsAndTriggersOfOthersDoNotHinderAMigration) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db,
                         "CREATE TABLE gone(a); CREATE VIEW broken AS SELECT a FROM gone; "
                         "DROP TABLE gone; CREATE VIEW mine AS SELECT id FROM semel_live; "
                         "CREATE TABLE parcel(a); CREATE TRIGGER looks AFTER INSERT ON parcel "
                         "BEGIN SELECT count(*) FROM semel_live; END",
                         nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  EXPECT_NE(open(), nullptr);
  EXPECT_EQ(sqlite3_exec(db, "SELECT * FROM mine; INSERT INTO parcel VALUES (1)", nullptr, nullptr,
                         nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

TEST_F(GoldenTest, ABroughtUpStoreKeepsAnAuditLog) {
  {
    const auto store = open();
    ASSERT_NE(store, nullptr);
    AuditEntry entry;
    entry.who = "night_shift";
    ASSERT_TRUE(store->facets().audit->append(Nonce{}, entry));
  }
  const auto again = open();
  ASSERT_EQ(again->facets().audit->list(std::nullopt, 10)->size(), 1u);
}

TEST_F(GoldenTest, ItsCompletedKeysAreDuplicatesAndItsQueueIsRead) {
  const auto store = open();
  ASSERT_NE(store, nullptr);
  const auto consumer = store->facets().records->consumer("payments").value();
  const Message again =
      test::make_message(*consumer, "paid", R"({"id":"paid","account":1,"amount":5})");
  const Message other = test::make_message(*consumer, "paid", "{}");
  const Message* const first = &again;
  const Message* const second = &other;
  EXPECT_TRUE(std::holds_alternative<Completed>(store->claim({&first, 1}, {})->front()));
  EXPECT_TRUE(std::holds_alternative<Conflict>(store->claim({&second, 1}, {})->front()));
  const auto rows = store->facets().held->take(*consumer, 10, 1 << 20, std::chrono::seconds(1));
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().payload, R"({"id":"held","account":1,"amount":11})");
}

TEST_F(GoldenTest, WhatAMigrationWouldRunMakesTheTablesOfThisVersion) {
  SqliteOptions options;
  options.path = path_;
  const auto plan = sqlite_schema_change(options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->from, 1);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, plan->sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
  const auto done = sqlite_schema_change(options);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->from, plan->to);
  EXPECT_EQ(done->sql, "");
  EXPECT_NE(open(), nullptr);
}

TEST_F(GoldenTest, ANewerSchemaIsRefusedByNameAndLeftAlone) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE semel_schema SET version = 99", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  SqliteOptions options;
  options.path = path_;
  const auto store = open_sqlite(options);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, "R210");
  EXPECT_EQ(store.error().kind, ErrorKind::kRejected);
  EXPECT_NE(store.error().message.find("99"), std::string::npos);
}

}  // namespace
}  // namespace semel
