#include "core/redis_streams_spec.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(RedisStreamsSpec, NamesAreTextWithoutControlCharacters) {
  EXPECT_FALSE(redis_name_flaw("orders"));
  EXPECT_FALSE(redis_name_flaw("{shop}:orders"));
  EXPECT_FALSE(redis_name_flaw("Bestellungen für München"));
  EXPECT_TRUE(redis_name_flaw(""));
  EXPECT_TRUE(redis_name_flaw("a\nb"));
  EXPECT_TRUE(redis_name_flaw("\xff"));
  EXPECT_TRUE(redis_name_flaw(std::string(513, 'x')));
}

}  // namespace
}  // namespace semel::core
