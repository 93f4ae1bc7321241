#include "clients/api/run_url.h"

#include <gtest/gtest.h>

namespace semel::api_client {
namespace {

TEST(RunUrl, IsWhatPathsAreAddedTo) {
  const auto plain = RunUrl::parse("http://127.0.0.1:8585/");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->base, "http://127.0.0.1:8585");
  EXPECT_FALSE(plain->encrypted);
  EXPECT_TRUE(plain->loopback);
  const auto behind = RunUrl::parse("HTTPS://ops.example.com/semel//");
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->base, "https://ops.example.com/semel");
  EXPECT_TRUE(behind->encrypted);
  EXPECT_FALSE(behind->loopback);
  const auto six = RunUrl::parse("http://[::1]:8585");
  ASSERT_TRUE(six);
  EXPECT_TRUE(six->loopback);
}

TEST(RunUrl, ASocketIsAPathOfThisMachine) {
  for (const char* text : {"unix:/run/semel/admin.sock", "unix:///run/semel/admin.sock",
                           "UNIX:/run/semel/admin.sock"}) {
    const auto url = RunUrl::parse(text);
    ASSERT_TRUE(url) << text;
    EXPECT_EQ(url->socket, "/run/semel/admin.sock");
    EXPECT_EQ(url->text(), "unix:/run/semel/admin.sock");
    EXPECT_EQ(url->base, "http://localhost");
    EXPECT_TRUE(url->loopback);
  }
  EXPECT_TRUE(RunUrl::parse("unix:/" + std::string(106, 'a')));
  for (const std::string& text :
       {std::string("unix:"), std::string("unix:/"), std::string("unix:admin.sock"),
        std::string("unix://host/admin.sock"), std::string("unix:/run/"),
        "unix:/" + std::string(107, 'a')}) {
    const auto url = RunUrl::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, "R361") << text;
  }
}

TEST(RunUrl, RefusesWhatIsNone) {
  for (const char* text : {"", "127.0.0.1:8585", "ftp://host", "http://", "http:///path",
                           "http://host:0", "http://host:99999", "http://host:x",
                           "http://host/?a=b", "http://host/#a", "http://ho st", "http://host\n"}) {
    const auto url = RunUrl::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, "R361") << text;
  }
}

TEST(RunUrl, NeverRepeatsAPassword) {
  const auto url = RunUrl::parse("http://ops:a-secret-word@host");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().message.find("a-secret-word"), std::string::npos) << url.error().message;
}

TEST(RunUrl, APartOfAPathStaysOnePart) {
  EXPECT_EQ(path_part("order-7_a.b~c"), "order-7_a.b~c");
  EXPECT_EQ(path_part("a/b?c#d%e"), "a%2Fb%3Fc%23d%25e");
  EXPECT_EQ(path_part(".."), "%2E%2E");
  EXPECT_EQ(path_part(std::string("\0\xff", 2)), "%00%FF");
}

}  // namespace
}  // namespace semel::api_client
