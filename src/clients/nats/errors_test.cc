#include "clients/nats/errors.h"

#include <gtest/gtest.h>
#include <nats/nats.h>

namespace semel::nats {
namespace {

TEST(NatsErrors, ALoginThatIsRefusedIsFinalUntilItHasWorked) {
  const Error first =
      connect_error(NATS_CONNECTION_AUTH_FAILED, "Authorization Violation", "h:1", false);
  EXPECT_EQ(first.code, "R381");
  EXPECT_TRUE(is_final(first));
  EXPECT_NE(first.message.find("Authorization Violation"), std::string::npos) << first.message;
  EXPECT_FALSE(is_final(connect_error(NATS_CONNECTION_AUTH_FAILED, "", "h:1", true)));
}

TEST(NatsErrors, EachWayTlsFailsNamesItsFix) {
  for (const int status :
       {NATS_SSL_ERROR, NATS_SECURE_CONNECTION_WANTED, NATS_SECURE_CONNECTION_REQUIRED}) {
    const Error error = connect_error(status, "", "h:1", false);
    EXPECT_EQ(error.code, "R382") << status;
    EXPECT_TRUE(is_final(error));
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST(NatsErrors, AServerThatIsAwayIsWaitedFor) {
  for (const int status : {NATS_NO_SERVER, NATS_TIMEOUT, NATS_IO_ERROR, NATS_CONNECTION_CLOSED}) {
    const Error error = connect_error(status, "", "h:1", false);
    EXPECT_EQ(error.code, "R380") << status;
    EXPECT_FALSE(is_final(error));
    EXPECT_NE(error.message.find("h:1"), std::string::npos) << error.message;
  }
}

TEST(NatsErrors, RefusalsOfJetStreamHaveTheirPages) {
  EXPECT_EQ(api_error(kStreamNotFound, "stream not found", true).code, "R384");
  EXPECT_TRUE(is_final(api_error(kConsumerNotFound, "consumer not found", true)));
  EXPECT_NE(api_error(kConsumerNotFound, "", false).hint.find("declare"), std::string::npos);
  EXPECT_EQ(api_error(JSNotEnabledForAccountErr, "", false).code, "R383");
  EXPECT_FALSE(is_final(api_error(JSClusterNotAvailErr, "", false)));
  const Error other = api_error(JSBadRequestErr, "bad request", false);
  EXPECT_EQ(other.code, "R387");
  EXPECT_NE(other.message.find("bad request"), std::string::npos) << other.message;
  EXPECT_FALSE(is_final(api_error(JSBadRequestErr, "bad request", true)));
}

}  // namespace
}  // namespace semel::nats
