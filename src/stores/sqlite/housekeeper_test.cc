// The log is copied concurrently with the commits and does not grow without end.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <thread>

#include "stores/sqlite/test_place.h"

namespace semel::sqlite {
namespace {

class HousekeeperTest : public SqliteTest {};

TEST_F(HousekeeperTest, ASteadyLoadDoesNotLetTheLogGrowWithoutEnd) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  std::uintmax_t longest = 0;
  std::uintmax_t written = 0;
  // Big payloads fill the log quickly.
  const std::vector<OutgoingMessage> rows(64, row(Bytes(16 << 10, 'x')));
  for (int i = 0; i < 160; ++i) {
    ASSERT_TRUE(store->facets().held->append(consumer, rows).has_value());
    written += 64 * (16 << 10);
    longest = std::max(longest, std::filesystem::file_size(path_ + "-wal"));
  }
  EXPECT_LT(longest, written / 4 * 3) << "of " << written << " bytes";
}

TEST_F(HousekeeperTest, WithoutAThreadSqliteCopiesItself) {
  SqliteOptions wanted = options();
  wanted.checkpoints = false;
  const auto store = open(wanted);
  const ConsumerNumber consumer = attach(*store);
  const std::vector<OutgoingMessage> rows(64, row(Bytes(16 << 10, 'x')));
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(store->facets().held->append(consumer, rows).has_value());
  }
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 16U << 20U);
}

}  // namespace
}  // namespace semel::sqlite
