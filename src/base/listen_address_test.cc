#include "base/listen_address.h"

#include <gtest/gtest.h>

namespace semel {
namespace {

TEST(ListenAddressTest, ReadsAddressAndPort) {
  const auto v4 = ListenAddress::parse("127.0.0.1:8585");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 8585);
  const auto v6 = ListenAddress::parse("[::1]:80");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->text(), "[::1]:80");
  const auto every = ListenAddress::parse(":0");
  ASSERT_TRUE(every);
  EXPECT_EQ(every->host, "");
  EXPECT_EQ(every->port, 0);
}

TEST(ListenAddressTest, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "8585", "localhost", "localhost:", "localhost:x", "localhost:65536",
                           "localhost:-1", "localhost:80 ", "::1:80", "[::1:80", "http://a:80"}) {
    EXPECT_FALSE(ListenAddress::parse(text)) << text;
  }
}

TEST(ListenAddressTest, KnowsWhichOnesOnlyThisMachineReaches) {
  for (const char* text : {"127.0.0.1:1", "127.9.0.1:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(ListenAddress::parse(text)->is_loopback()) << text;
  }
  for (const char* text : {":1", "0.0.0.0:1", "[::]:1", "127.evil.example:1", "127.1.2.3.4:1",
                           "10.0.0.1:1", "localhost.example:1"}) {
    EXPECT_FALSE(ListenAddress::parse(text)->is_loopback()) << text;
  }
}

}  // namespace
}  // namespace semel
