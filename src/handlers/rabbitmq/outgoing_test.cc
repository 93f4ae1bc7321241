#include "handlers/rabbitmq/outgoing.h"

#include <gtest/gtest.h>

#include "handlers/rabbitmq/answers.h"
#include "tests/support/publish_calls.h"

namespace semel::rabbitmq {
namespace {

TEST(RabbitmqOutgoing, WhatWasAPropertyBecomesOneAgain) {
  const auto made = outgoing_of(test::keyed_message("k-1", "{}",
                                                    {{"amqp-message-id", "m-1"},
                                                     {"amqp-correlation-id", "c-1"},
                                                     {"amqp-type", "order.paid"},
                                                     {"amqp-timestamp", "1700000000"},
                                                     {"content-type", "text/plain"},
                                                     {"trace", "7"}}),
                                {});
  EXPECT_EQ(made.message_id, "m-1");
  EXPECT_EQ(made.correlation_id, "c-1");
  EXPECT_EQ(made.type, "order.paid");
  EXPECT_EQ(made.timestamp, 1'700'000'000U);
  EXPECT_EQ(made.content_type, "text/plain");
  ASSERT_EQ(made.headers.size(), 1U);
  EXPECT_EQ(made.headers[0].name, "trace");
}

TEST(RabbitmqOutgoing, WhatIsNoPropertyStaysAHeader) {
  const auto made = outgoing_of(
      test::keyed_message("k-1", "{}",
                          {{"amqp-timestamp", "yesterday"}, {"amqp-type", std::string(300, 'x')}}),
      {});
  EXPECT_EQ(made.headers.size(), 2U);
  EXPECT_FALSE(made.timestamp);
  EXPECT_EQ(made.message_id, "k-1");
}

TEST(RabbitmqOutgoing, TheBrokersDeduplicationIsGivenTheId) {
  core::RabbitmqPublishSpec spec;
  const Message message = test::keyed_message("k-1", "{}", {{"x-deduplication-header", "theirs"}});
  EXPECT_EQ(outgoing_of(message, spec).headers.at(0).value, "theirs");
  spec.deduplicated_for = std::chrono::minutes(10);
  const auto made = outgoing_of(message, spec);
  ASSERT_EQ(made.headers.size(), 1U);
  EXPECT_EQ(made.headers[0].name, "x-deduplication-header");
  EXPECT_EQ(made.headers[0].value, "k-1");
}

TEST(RabbitmqOutgoing, WhatAmqpCannotCarryIsSaid) {
  core::RabbitmqPublishSpec spec;
  spec.route = {"events", "orders"};
  const auto plain = outgoing_of(test::keyed_message("k"), spec);
  EXPECT_FALSE(outgoing_flaw(plain));
  const auto long_name =
      outgoing_of(test::keyed_message("k", "{}", {{std::string(256, 'h'), "1"}}), spec);
  EXPECT_TRUE(outgoing_flaw(long_name));
  spec.route.routing_key = std::string(256, 'r');
  EXPECT_TRUE(outgoing_flaw(outgoing_of(test::keyed_message("k"), spec)));
}

TEST(RabbitmqAnswers, TheBrokersWordsNameTheSize) {
  EXPECT_EQ(size_refused("PRECONDITION_FAILED - message size 2000 is larger than configured max "
                         "size 1000"),
            2000U);
  EXPECT_EQ(size_refused("PRECONDITION_FAILED - invalid header"), 0U);
}

TEST(RabbitmqAnswers, OneRouteOfManySaysNothingOfTheBroker) {
  EXPECT_EQ(unroutable({"", "q"}, "NO_ROUTE", true).broker, Judged::Broker::kRefuses);
  EXPECT_EQ(unroutable({"", "q"}, "NO_ROUTE", false).broker, Judged::Broker::kSilent);
  EXPECT_FALSE(unroutable({"", "q"}, "NO_ROUTE", true).verdict.unknown());
  EXPECT_TRUE(not_taken({"", "q"}, true).verdict.unknown());
  const auto unanswered = [](bool sent, bool stopped, const std::string& blocked, bool one_route) {
    return no_answer({std::chrono::milliseconds(5), sent, stopped, blocked}, one_route);
  };
  using Broker = Judged::Broker;
  EXPECT_TRUE(unanswered(true, false, "", true).verdict.unknown());
  EXPECT_FALSE(unanswered(false, false, "low on memory", true).verdict.unknown());
  EXPECT_EQ(unanswered(true, false, "", true).broker, Broker::kAtFault) << "nobody's is confirmed";
  EXPECT_EQ(unanswered(true, false, "", false).broker, Broker::kSilent) << "others go elsewhere";
  EXPECT_EQ(unanswered(true, true, "", true).broker, Broker::kSilent) << "it had no time";
  EXPECT_EQ(unanswered(false, false, "", true).broker, Broker::kSilent) << "it was not tried";
  EXPECT_EQ(unanswered(true, false, "low on memory", true).broker, Broker::kSilent) << "it said so";
}

}  // namespace
}  // namespace semel::rabbitmq
