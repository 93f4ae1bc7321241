#include "sources/file/line_ledger.h"

#include <gtest/gtest.h>

#include "sources/file/file_position.h"

namespace semel::sources {
namespace {

LineLedger with_lines(std::uint64_t count) {
  LineLedger ledger(std::nullopt);
  for (std::uint64_t i = 0; i < count; ++i) ledger.handed_out({{i * 10, i * 10 + 10}, i});
  return ledger;
}

TEST(LineLedger, MovesOnlyOverWhatIsSettledWithoutAGap) {
  LineLedger ledger = with_lines(4);
  EXPECT_TRUE(ledger.settle(20));
  EXPECT_FALSE(ledger.last_settled());
  EXPECT_TRUE(ledger.settle(10));
  ASSERT_TRUE(ledger.last_settled());
  EXPECT_EQ(ledger.last_settled()->span.end, 20U);
  EXPECT_EQ(ledger.last_settled()->hash, 1U);
  EXPECT_TRUE(ledger.settle(40));
  EXPECT_EQ(ledger.last_settled()->span.end, 20U);
  EXPECT_EQ(ledger.open(), 1U);
  EXPECT_TRUE(ledger.settle(30));
  EXPECT_EQ(ledger.last_settled()->span.end, 40U);
  EXPECT_EQ(ledger.open(), 0U);
}

TEST(LineLedger, IgnoresWhatItDoesNotHave) {
  LineLedger ledger = with_lines(2);
  EXPECT_FALSE(ledger.settle(15));
  EXPECT_TRUE(ledger.settle(10));
  EXPECT_FALSE(ledger.settle(10));
  EXPECT_FALSE(ledger.give_back(10));
  EXPECT_EQ(ledger.open(), 1U);
}

TEST(LineLedger, GivenBackLinesComeAgainOldestFirstAndHoldThePrefix) {
  LineLedger ledger = with_lines(3);
  EXPECT_TRUE(ledger.give_back(30));
  EXPECT_TRUE(ledger.give_back(20));
  EXPECT_FALSE(ledger.give_back(20));
  EXPECT_FALSE(ledger.settle(20)) << "it is not handed out now";
  EXPECT_TRUE(ledger.settle(10));
  EXPECT_EQ(ledger.last_settled()->span.end, 10U);
  EXPECT_EQ(ledger.take_given_back()->span.end, 20U);
  EXPECT_EQ(ledger.take_given_back()->span.end, 30U);
  EXPECT_FALSE(ledger.take_given_back());
  EXPECT_TRUE(ledger.settle(20));
  EXPECT_TRUE(ledger.settle(30));
  EXPECT_EQ(ledger.last_settled()->span.end, 30U);
}

TEST(FilePosition, IsReadAsItWasWritten) {
  const std::vector<FilePosition> written{{77, {{100, 220}, 0xABCDEF0123456789}}, {5, {}}};
  const auto read = decode(encode(written));
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ(read->front().inode, 77U);
  EXPECT_EQ(read->front().last.span.begin, 100U);
  EXPECT_EQ(read->front().last.span.end, 220U);
  EXPECT_EQ(read->front().last.hash, 0xABCDEF0123456789);
  EXPECT_EQ(read->back().inode, 5U);
  EXPECT_EQ(read->back().last.span.end, 0U);
  EXPECT_EQ(decode(encode({}))->size(), 0U);
}

TEST(FilePosition, RefusesWhatItDidNotWrite) {
  for (const std::string_view text :
       {"", "start", "2 77 100 220 ab", "1 77 100 220", "1 77 220 100 ab", "1 77 100 100 ab",
        "1 x 100 220 ab", "1 77 100 220 ab more", "1 77 -1 220 ab",
        "1 77 100 18446744073709551615 ab"}) {
    EXPECT_FALSE(decode(text)) << text;
  }
}

TEST(LineHash, TellsLinesApartAndNeverChanges) {
  EXPECT_NE(line_hash("a\n"), line_hash("b\n"));
  EXPECT_NE(line_hash(std::string(8, '\0')), line_hash(std::string(16, '\0')));
  const std::string tail(4096, 't');
  EXPECT_EQ(line_hash("x" + tail), line_hash("yy" + tail)) << "only its last part is hashed";
  EXPECT_NE(line_hash("x" + tail), line_hash("x" + tail.substr(1) + "u"));
  // Stores keep this value, so it must never change.
  EXPECT_EQ(line_hash("{\"id\":\"p-1\"}\n"), 3454968183213482528ULL);
}

}  // namespace
}  // namespace semel::sources
