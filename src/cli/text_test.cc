#include "cli/text.h"

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

using std::chrono::milliseconds;

TEST(TerminalText, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1 000");
  EXPECT_EQ(grouped(13'333), "13 333");
  EXPECT_EQ(grouped(1'234'567), "1 234 567");
  EXPECT_EQ(counted(1, "record", "records"), "1 record");
  EXPECT_EQ(counted(1'000, "record", "records"), "1 000 records");
}

TEST(TerminalText, ATerminalNeverSeesControlCharacters) {
  EXPECT_EQ(printable("p-1 ä €"), "p-1 ä €");
  EXPECT_EQ(printable(std::string_view("a\0b\x1b[31m", 8)), "a\\x00b\\x1b[31m");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009b");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x80\xa8",
                      3),
            "a\\u202eb…");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8");
}

TEST(TerminalText, WhatIsLongIsCutByCharactersNotBytes) {
  EXPECT_EQ(printable("äöüß", 3), "äöü…");
  EXPECT_EQ(printable("äöü", 3), "äöü");
}

TEST(TerminalText, DurationsAreReadAndWritten) {
  EXPECT_EQ(parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(parse_duration("20s"), milliseconds(20'000));
  EXPECT_EQ(parse_duration("5m"), milliseconds(300'000));
  EXPECT_EQ(parse_duration("6h"), milliseconds(21'600'000));
  EXPECT_EQ(parse_duration("7d"), milliseconds(604'800'000));
  for (const char* wrong :
       {"", "5", "s", "-1s", "1 s", "1w", "1.5s", "99999999999999999999d", "9999999999999999d"}) {
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
  }
  EXPECT_EQ(duration_text(milliseconds(500)), "500 ms");
  EXPECT_EQ(duration_text(milliseconds(60'000)), "60 s");
  EXPECT_EQ(duration_text(milliseconds(300'000)), "5 min");
}

TEST(TerminalText, Took) {
  using namespace std::chrono_literals;
  EXPECT_EQ(took(42us), "42 µs");
  EXPECT_EQ(took(2'100us), "2.1 ms");
  EXPECT_EQ(took(250ms), "250 ms");
  EXPECT_EQ(took(3s), "3.0 s");
}

TEST(TerminalText, TimesInThreeStyles) {
  const StoreTime time(milliseconds(1'700'000'000'004));
  const StoreTime later = time + std::chrono::minutes(3);
  EXPECT_EQ(time_text(time, TimeStyle::kIso, later), "2023-11-14T22:13:20.004Z");
  EXPECT_EQ(time_text(time, TimeStyle::kRelative, later), "3 min ago");
  EXPECT_EQ(time_text(later, TimeStyle::kRelative, time), "in 3 min");
  EXPECT_EQ(time_text(time, TimeStyle::kRaw, later), "1700000000004");
}

TEST(TerminalText, IsWrappedAtBlanks) {
  EXPECT_EQ(wrapped("one two three\nfour\n", 9), "one two\n  three\nfour\n");
  EXPECT_EQ(wrapped("one two three\n", std::nullopt), "one two three\n");
  EXPECT_EQ(wrapped("  - grün und blau\n", 12, 4), "  - grün und\n      blau\n");
  EXPECT_EQ(wrapped("-n  one two three\n", 12, kBelowGap), "-n  one two\n    three\n");
  EXPECT_EQ(wrapped("one two three\n", 9, kBelowGap), "one two\nthree\n");
  EXPECT_EQ(wrapped("a-word-that-is-long x\n", 9, 0), "a-word-that-is-long\nx\n");
  EXPECT_EQ(wrapped("  10 |  UPDATE account SET x = 1\n     |         ~~~~~~~\n", 12),
            "  10 |  UPDATE account SET x = 1\n     |         ~~~~~~~\n");
  EXPECT_EQ(wrapped("", 9), "");
}

TEST(TerminalText, TheNearestWordIsMeant) {
  const std::vector<std::string> words = {"run", "records", "status"};
  EXPECT_EQ(nearest("record", words), "records");
  EXPECT_EQ(nearest("stauts", words), "status");
  EXPECT_EQ(nearest("elephant", words), std::nullopt);
  EXPECT_EQ(nearest("", words), std::nullopt);
}

}  // namespace
}  // namespace semel::cli
