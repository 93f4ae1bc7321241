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

}  // namespace
}  // namespace semel::kafka
