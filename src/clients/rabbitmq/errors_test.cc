#include "clients/rabbitmq/errors.h"

#include <amqp.h>
#include <gtest/gtest.h>

namespace semel::rabbitmq {
namespace {

TEST(RabbitmqErrors, ARefusedLoginIsFinalOnlyWhileNobodyHasLetUsIn) {
  const char* const said =
      "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN";
  const Error first = refusal_of(403, said, Step::kConnect, false);
  EXPECT_TRUE(is_final(first));
  EXPECT_EQ(first.code, "R311");
  EXPECT_NE(first.message.find("Login was refused"), std::string::npos);
  EXPECT_FALSE(first.hint.empty());
  EXPECT_FALSE(is_final(refusal_of(403, said, Step::kConnect, true)));
}

struct Case {
  int code;
  const char* said;
  Step step;
  const char* page;
  bool final;
};

TEST(RabbitmqErrors, EachReplyCodeHasItsPage) {
  for (const Case& each : {
           Case{403, "ACCESS_REFUSED - read access to queue", Step::kConsume, "R315", true},
           Case{403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use", Step::kConsume,
                "R316", false},
           Case{404, "NOT_FOUND - no queue 'q' in vhost '/'", Step::kQueue, "R314", true},
           Case{404, "NOT_FOUND - home node 'a' of durable queue 'q' is down or inaccessible",
                Step::kQueue, "R314", false},
           Case{405, "RESOURCE_LOCKED - cannot obtain exclusive access", Step::kQueue, "R316",
                false},
           Case{406, "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'q'",
                Step::kQueue, "R316", true},
           Case{406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out",
                Step::kConsume, "R317", false},
           Case{530, "NOT_ALLOWED - vhost nowhere not found", Step::kConnect, "R313", true},
           Case{530, "NOT_ALLOWED - access to vhost '/' refused: connection limit (1) is reached",
                Step::kConnect, "R310", false},
           Case{320, "CONNECTION_FORCED - broker forced connection closure", Step::kConsume, "R310",
                false},
           Case{541, "INTERNAL_ERROR", Step::kConsume, "R310", false},
           Case{505, "UNEXPECTED_FRAME", Step::kConsume, "R318", true},
       }) {
    const Error error = refusal_of(each.code, each.said, each.step, false);
    EXPECT_EQ(error.code, each.page) << each.said;
    EXPECT_EQ(is_final(error), each.final) << each.said;
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST(RabbitmqErrors, WhatTheLibrarySaysOfTlsIsFinalAtFirst) {
  for (const int status : {AMQP_STATUS_SSL_PEER_VERIFY_FAILED,
                           AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED, AMQP_STATUS_SSL_ERROR}) {
    const Error error = status_error(status, "h:5671", true, false);
    EXPECT_EQ(error.code, "R312");
    EXPECT_TRUE(is_final(error));
    EXPECT_FALSE(is_final(status_error(status, "h:5671", true, true)));
  }
  const Error away = status_error(AMQP_STATUS_SOCKET_ERROR, "h:5672", false, false);
  EXPECT_EQ(away.code, "R310");
  EXPECT_FALSE(is_final(away));
  EXPECT_NE(away.message.find("h:5672"), std::string::npos);
}

}  // namespace
}  // namespace semel::rabbitmq
