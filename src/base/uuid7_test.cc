#include "base/uuid7.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace semel {
namespace {

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};

// The time of the example in RFC 9562, appendix A.6.
constexpr std::uint64_t kOfTheRfc = 0x017F22E279B0;

TEST(Uuid7, HasTimeVersionAndVariantWhereTheRfcPutsThem) {
  EXPECT_EQ(Uuid7Sequence().next(kOfTheRfc, {0, 0}), "017f22e2-79b0-7000-8000-000000000000");
  EXPECT_EQ(Uuid7Sequence().next(kOfTheRfc, {kAllOnes, kAllOnes}),
            "017f22e2-79b0-77ff-bfff-ffffffffffff")
      << "all but the counter's first bit";
}

TEST(Uuid7, TheCounterGoesOnFromRandAIntoRandB) {
  Uuid7Sequence sequence;
  // The last one before a carry into rand_a.
  constexpr std::uint64_t kLow = (std::uint64_t{1} << 30) - 1;
  EXPECT_EQ(sequence.next(1, {kLow, 5}), "00000000-0001-7000-bfff-ffff00000005");
  EXPECT_EQ(sequence.next(1, {0, 5}), "00000000-0001-7001-8000-000000000005");
}

TEST(Uuid7, EachIsGreaterAlsoWhereTheClockStandsStillOrGoesBack) {
  Uuid7Sequence sequence;
  const std::uint64_t times[] = {1'000, 1'000, 999, 1, 1'001, 500, 1'001, 1'002};
  std::string last;
  std::uint64_t chance = 0x9E3779B97F4A7C15;
  for (const std::uint64_t time : times) {
    chance = chance * 6364136223846793005 + 1442695040888963407;
    const std::string next = sequence.next(time, {chance, chance >> 32});
    EXPECT_GT(next, last);
    last = next;
  }
  EXPECT_EQ(last.substr(0, 13), "00000000-03ea") << "the clock is followed again";
}

TEST(Uuid7, MillionsOfOneMillisecondKeepTheirOrder) {
  Uuid7Sequence sequence;
  std::string last;
  for (std::uint64_t i = 0; i < 3'000'000; ++i) {
    // The random part decreases while the counter grows.
    const std::string next = sequence.next(77, {kAllOnes - i, kAllOnes - i});
    ASSERT_GT(next, last) << i;
    last = next;
  }
  EXPECT_EQ(last.substr(0, 13), "00000000-004d") << "in that millisecond";
}

TEST(Uuid7, ACounterThatBeginsAtItsMostHasAsMuchRoomAgain) {
  Uuid7Sequence sequence;
  EXPECT_EQ(sequence.next(1, {kAllOnes, 0}).substr(14, 4), "77ff");
  EXPECT_EQ(sequence.next(1, {0, 0}).substr(14, 4), "7800");
}

}  // namespace
}  // namespace semel
