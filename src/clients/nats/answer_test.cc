#include "clients/nats/answer.h"

#include <gtest/gtest.h>

namespace semel::nats {
namespace {

TEST(NatsAnswer, IsReadByPointers) {
  const auto answer = Answer::read(R"({"config":{"name":"S","max_age":7,"big":1e3}})", false);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text("/config/name"), "S");
  EXPECT_EQ(answer->number("/config/max_age"), 7);
  EXPECT_EQ(answer->number("/config/big", -1), -1) << "no integer";
  EXPECT_EQ(answer->number("/config/name", 3), 3);
  EXPECT_TRUE(answer->has("/config"));
  EXPECT_FALSE(answer->has("/other"));
  EXPECT_EQ(answer->text("/other"), "");
}

TEST(NatsAnswer, ARefusalIsAnError) {
  const auto refused = Answer::read(
      R"({"type":"x","error":{"code":404,"err_code":10059,"description":"stream not found"}})",
      false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "R384");
  const auto broken = Answer::read("+OK", false);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, "R387");
  EXPECT_EQ(broken.error().kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace semel::nats
