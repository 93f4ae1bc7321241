#include "clients/nats/jetstream.h"

#include <gtest/gtest.h>

namespace semel::nats {
namespace {

using std::chrono::milliseconds;

core::NatsSpec orders() {
  core::NatsSpec spec;
  spec.stream = "ORDERS";
  spec.durable = "billing";
  return spec;
}

TEST(NatsJetStream, AConsumerIsReadFromItsAnswer) {
  const auto state =
      read_consumer(R"({"config":{"ack_policy":"explicit","ack_wait":30000000000,"max_deliver":5,)"
                    R"("max_ack_pending":1000,"backoff":[5000000000,1000000000],"max_batch":50,)"
                    R"("max_expires":2000000000,"filter_subject":"orders.*"},"num_pending":7,)"
                    R"("num_ack_pending":2})");
  EXPECT_EQ(state.ack_policy, "explicit");
  EXPECT_FALSE(state.pushes);
  EXPECT_EQ(state.ack_wait, milliseconds(30'000));
  EXPECT_EQ(state.backoff, (std::vector{milliseconds(5'000), milliseconds(1'000)}));
  EXPECT_EQ(state.shortest_wait(), milliseconds(1'000)) << "backoff takes the place of ack_wait";
  EXPECT_EQ(state.longest_wait(), milliseconds(5'000));
  EXPECT_EQ(state.max_deliver, 5);
  EXPECT_EQ(state.max_ack_pending, 1'000);
  EXPECT_EQ(state.max_batch, 50);
  EXPECT_EQ(state.max_expires, milliseconds(2'000));
  EXPECT_EQ(state.pending, 7);
  EXPECT_EQ(state.ack_pending, 2);
  EXPECT_EQ(state.filters, std::vector<std::string>{"orders.*"});
  EXPECT_EQ(read_consumer(R"({"config":{"filter_subjects":["a","b.>"]}})").filters,
            (std::vector<std::string>{"a", "b.>"}));
  EXPECT_FALSE(unusable(state, orders()));
}

TEST(NatsJetStream, WhatIsNotPositiveIsNoLimit) {
  const auto state =
      read_consumer(R"({"config":{"ack_policy":"explicit","ack_wait":1000000,"max_deliver":-1,)"
                    R"("max_ack_pending":-1}})");
  EXPECT_FALSE(state.max_deliver);
  EXPECT_FALSE(state.max_ack_pending);
  EXPECT_FALSE(state.max_batch);
  EXPECT_EQ(state.shortest_wait(), milliseconds(1));
}

TEST(NatsJetStream, AStreamIsReadFromItsAnswer) {
  const auto kept =
      read_stream(R"({"config":{"storage":"file","num_replicas":3,"max_age":3600000000000,)"
                  R"("duplicate_window":120000000000,"subjects":["orders","orders.>"]}})");
  EXPECT_EQ(kept.subjects, (std::vector<std::string>{"orders", "orders.>"}));
  EXPECT_FALSE(kept.in_memory);
  EXPECT_EQ(kept.replicas, 3);
  EXPECT_EQ(kept.max_age, milliseconds(3'600'000));
  EXPECT_EQ(kept.duplicates, milliseconds(120'000));
  const auto fleeting = read_stream(R"({"config":{"storage":"memory","max_age":0}})");
  EXPECT_TRUE(fleeting.in_memory);
  EXPECT_FALSE(fleeting.max_age);
}

TEST(NatsJetStream, OnlyAPulledConsumerWithExplicitAcknowledgementsIsTakenFrom) {
  ConsumerState state;
  state.ack_policy = "all";
  auto refused = unusable(state, orders());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "R386");
  EXPECT_NE(refused->message.find("billing"), std::string::npos) << refused->message;
  state.ack_policy = "explicit";
  state.pushes = true;
  EXPECT_TRUE(unusable(state, orders()));
}

TEST(NatsJetStream, AConsumerIsMadeWithoutALimitOfDeliveries) {
  auto spec = orders();
  spec.subject = "orders.paid";
  spec.ack_wait = milliseconds(1'500);
  EXPECT_EQ(consumer_request(spec),
            R"({"stream_name":"ORDERS","config":{"durable_name":"billing",)"
            R"("ack_policy":"explicit","deliver_policy":"all","replay_policy":"instant",)"
            R"("ack_wait":1500000000,"max_deliver":-1,"max_ack_pending":-1,)"
            R"("filter_subject":"orders.paid"}})");
  EXPECT_EQ(next_subject(spec), "$JS.API.CONSUMER.MSG.NEXT.ORDERS.billing");
}

}  // namespace
}  // namespace semel::nats
