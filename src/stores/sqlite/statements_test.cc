// Shared statements on a connection of SQLite.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <limits>
#include <utility>
#include <vector>

#include "stores/sqlite/connection.h"
#include "stores/sqlite/dialect.h"
#include "stores/sqlite/ttls.h"

namespace semel::sqlite {
namespace {

class SharedStatements : public testing::Test {
 protected:
  SharedStatements() { EXPECT_EQ(sqlite3_open(":memory:", &handle_), SQLITE_OK); }
  // The close is refused while one of our statements is left on it.
  ~SharedStatements() override { EXPECT_EQ(sqlite3_close(handle_), SQLITE_OK); }

  int prepared() const {
    int count = 0;
    for (sqlite3_stmt* one = nullptr; (one = sqlite3_next_stmt(handle_, one)) != nullptr;) ++count;
    return count;
  }

  sqlite3* handle_ = nullptr;
};

TEST(SqliteDialect, SaysTheNamesOfAFileAndLocksNoRow) {
  const Dialect dialect;
  EXPECT_EQ(dialect.translated("SELECT source_position, until_at FROM semel_record AS r "
                               "WHERE r.message_key = ?1 ORDER BY id FOR UPDATE SKIP LOCKED"),
            "SELECT position, until FROM semel_live AS r WHERE r.key = ?1 ORDER BY id");
  EXPECT_EQ(dialect.translated("SET position = excluded.source_position, my_crashes = crashes"),
            "SET position = excluded.position, my_crashes = count")
      << "whole words";
}

TEST_F(SharedStatements, StayPreparedOnABorrowedConnection) {
  const sql::SqlText add(Dialect(), "INSERT INTO kept VALUES (?1) ON CONFLICT DO NOTHING");
  const sql::SqlText find(Dialect(), "SELECT word FROM kept WHERE word = ?1");
  const sql::SqlText wrong(Dialect(), "SELECT 1 FROM gone");
  Connection connection(handle_);
  connection.execute("CREATE TABLE kept (word PRIMARY KEY)");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(connection.ask(add, {sql::Word{"same"}}).changed(), i == 0 ? 1U : 0U);
    connection.queue(add, {i});
    EXPECT_EQ(connection.ask(find, {i}).changed(), 1U) << "a queued one has run";
    EXPECT_EQ(prepared(), 2);
  }
  EXPECT_THROW(connection.ask(wrong, {}), Failure);
}

TEST_F(SharedStatements, KeepATextWhereAPersonMayReadItAndABlobWhereNot) {
  const sql::SqlText types(Dialect(),
                           "SELECT typeof(?1), typeof(?2), typeof(?3), typeof(?4), typeof(?5)");
  const sql::SqlText echo(Dialect(), "SELECT ?1, ?2, ?3");
  Connection connection(handle_);
  sql::Answer answer = connection.ask(
      types, {BytesView("words"), BytesView("\xff"), sql::Binary{"words"}, StoreTime{}, Ttl{}});
  ASSERT_TRUE(answer.next());
  for (const auto& [column, type] : std::vector<std::pair<std::size_t, const char*>>{
           {0, "text"}, {1, "blob"}, {2, "blob"}, {3, "integer"}, {4, "null"}}) {
    EXPECT_EQ(answer.bytes(column), type) << column;
  }
  answer = connection.ask(
      echo, {sql::Binary{{}}, std::numeric_limits<std::int64_t>::min(), std::optional<Bytes>()});
  ASSERT_TRUE(answer.next());
  EXPECT_FALSE(answer.null(0)) << "an empty value is no NULL";
  EXPECT_EQ(answer.integer(1), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(answer.maybe_bytes(2), std::nullopt);
  EXPECT_FALSE(answer.next());
}

TEST_F(SharedStatements, ReadATimeWrittenByHandAsTheNumberItIs) {
  const sql::SqlText by_hand(Dialect(), "SELECT 1764187200123.75, '1764187200123.75'");
  Connection connection(handle_);
  sql::Answer answer = connection.ask(by_hand, {});
  ASSERT_TRUE(answer.next());
  EXPECT_EQ(answer.integer(0), 1'764'187'200'123);
  EXPECT_FALSE(answer.null(0));
  EXPECT_EQ(answer.bytes(1), "1764187200123.75");
}

}  // namespace
}  // namespace semel::sqlite
