#include "base/time_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace semel {
namespace {

TEST(TimeText, IsReadAsItWasWritten) {
  for (const std::int64_t count :
       {std::int64_t{0}, std::int64_t{951'827'696'007}, std::int64_t{-1}}) {
    const UtcTime time{std::chrono::milliseconds(count)};
    EXPECT_EQ(parse_iso_time(iso_time(time)), time);
  }
  for (const char* text : {"", "1970-01-01", "1970-01-01T00:00:00Z", "1970-02-30T00:00:00.000Z",
                           "1970-01-01T24:00:00.000Z", "1970-01-01T00:60:00.000Z",
                           "1970-01-01 00:00:00.000Z", "1970-01-01T00:00:00.000Z "}) {
    EXPECT_FALSE(parse_iso_time(text)) << text;
  }
}

}  // namespace
}  // namespace semel
