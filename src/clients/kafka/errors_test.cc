#include "clients/kafka/errors.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

namespace semel::kafka {
namespace {

TEST(KafkaErrors, ARefusedLoginIsFinalOnlyWhileNobodyHasLetUsIn) {
  const Error first = error_of(RD_KAFKA_RESP_ERR__AUTHENTICATION, "wrong password", false);
  EXPECT_TRUE(is_final(first));
  EXPECT_EQ(first.code, "R301");
  EXPECT_NE(first.message.find("wrong password"), std::string::npos);
  EXPECT_FALSE(first.hint.empty());
  EXPECT_FALSE(is_final(error_of(RD_KAFKA_RESP_ERR__AUTHENTICATION, "", true)));
}

TEST(KafkaErrors, RightsAreFinal) {
  for (const int code : {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
                         RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED}) {
    const Error error = error_of(code, "", true);
    EXPECT_TRUE(is_final(error));
    EXPECT_EQ(error.code, "R304");
  }
}

TEST(KafkaErrors, WhatHasNoRowPasses) {
  const Error error = error_of(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, "moved", true);
  EXPECT_FALSE(is_final(error));
  EXPECT_EQ(error.code, "R300");
  EXPECT_FALSE(is_final(error_of(RD_KAFKA_RESP_ERR__TRANSPORT, "cut", false)));
}

TEST(KafkaErrors, TheSameErrorIsKnownAgainWhateverTimesItSays) {
  const std::string_view first =
      "sasl_ssl://kafka:9093/1: SASL authentication error: no (after 319ms in state AUTH_REQ)";
  const std::string_view later =
      "sasl_ssl://kafka:9093/1: SASL authentication error: no (after 320ms in state AUTH_REQ, 4 "
      "identical error(s) suppressed)";
  EXPECT_EQ(without_times(first), without_times(later));
  EXPECT_EQ(without_times(first), "sasl_ssl://kafka:9093/1: SASL authentication error: no");
  EXPECT_EQ(without_times("cut"), "cut");
}

}  // namespace
}  // namespace semel::kafka
