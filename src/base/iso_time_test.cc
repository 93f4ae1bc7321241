#include "base/iso_time.h"

#include <gtest/gtest.h>

namespace semel {
namespace {

using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

TEST(IsoTime, IsUtcWithMilliseconds) {
  EXPECT_EQ(iso_time(Time(std::chrono::milliseconds(0))), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_time(Time(std::chrono::milliseconds(951'827'696'007))), "2000-02-29T12:34:56.007Z");
  EXPECT_EQ(iso_time(Time(std::chrono::milliseconds(-1))), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(iso_time(Time(std::chrono::milliseconds(253'402'300'800'000))), "253402300800000");
}

TEST(IsoTime, HasTheDigitsThatTheTimeHas) {
  using std::chrono::microseconds;
  EXPECT_EQ(iso_time(ExactUtcTime(microseconds(951'827'696'007'089))),
            "2000-02-29T12:34:56.007089Z");
  EXPECT_EQ(iso_time(ExactUtcTime(microseconds(-1))), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(iso_time(ExactUtcTime(microseconds(253'402'300'800'000'000))), "253402300800000000");
}

}  // namespace
}  // namespace semel
