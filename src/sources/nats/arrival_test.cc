#include "sources/nats/arrival.h"

#include <gtest/gtest.h>
#include <nats/nats.h>

#include "clients/nats/handles.h"

namespace semel::nats {
namespace {

MessagePtr message_with(const std::string& subject, const std::string& body) {
  EXPECT_EQ(nats_Open(-1), NATS_OK);  // freeing a message requires it
  natsMsg* made = nullptr;
  EXPECT_EQ(
      natsMsg_Create(&made, subject.c_str(), nullptr, body.data(), static_cast<int>(body.size())),
      NATS_OK);
  return MessagePtr(made);
}

std::string value_in(const Arrival& arrival, const char* name) {
  return Bytes(find_header(arrival.headers, name).value_or("(none)"));
}

TEST(NatsArrival, AReplySaysWhichDeliveryOfWhichMessageItIs) {
  const auto facts = read_reply("$JS.ACK.ORDERS.billing.3.17.42.1795783856475573599.7");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->count, 3U);
  EXPECT_EQ(facts->sequence, 17U);
  EXPECT_EQ(facts->delivery, 42U);
  EXPECT_EQ(facts->pending, 7U);
  EXPECT_EQ(std::chrono::duration_cast<std::chrono::seconds>(facts->stored.time_since_epoch()),
            std::chrono::seconds(1'795'783'856));
}

TEST(NatsArrival, ADomainAndAnAccountMayStandBeforeTheStream) {
  for (const char* reply : {"$JS.ACK.hub.ABCDEF.ORDERS.billing.1.2.3.4000.5",
                            "$JS.ACK._.ABCDEF.ORDERS.billing.1.2.3.4000.5.xyz"}) {
    const auto facts = read_reply(reply);
    ASSERT_TRUE(facts) << reply;
    EXPECT_EQ(facts->count, 1U);
    EXPECT_EQ(facts->sequence, 2U);
    EXPECT_EQ(facts->pending, 5U);
  }
}

TEST(NatsArrival, WhatIsNoDeliveryIsNone) {
  for (const char* reply : {"", "_INBOX.abc.1", "$JS.ACK.S.c.1.2.3.4", "$JS.ACK.S.c.x.2.3.4.5",
                            "$JS.ACK.S.c.-1.2.3.4.5", "$JS.ACK.a.b.S.c.1.2.3.4.5.r.s",
                            "$JS.ACK.S.c.1.2.3.99999999999999999999999.5"}) {
    EXPECT_FALSE(read_reply(reply)) << reply;
  }
}

TEST(NatsArrival, HeadersHaveTheirPlaces) {
  const auto message = message_with("orders.paid", "{}");
  natsMsgHeader_Set(message.get(), "Nats-Msg-Id", "m-1");
  natsMsgHeader_Set(message.get(), "Content-Type", "application/json");
  natsMsgHeader_Set(message.get(), "ce-id", "e-1");
  natsMsgHeader_Set(message.get(), "empty", "");
  natsMsgHeader_Add(message.get(), "many", "a");
  natsMsgHeader_Add(message.get(), "many", "b");
  const auto stored = std::chrono::system_clock::time_point(std::chrono::seconds(9));
  const auto arrival = arrival_of(*message, {1, 2, 3, stored, 0});
  EXPECT_EQ(arrival->payload, "{}");
  EXPECT_EQ(arrival->broker_key, "m-1");
  EXPECT_EQ(arrival->content_type, "application/json");
  EXPECT_EQ(value_in(*arrival, "ce-id"), "e-1");
  EXPECT_EQ(value_in(*arrival, "empty"), "");
  EXPECT_EQ(value_in(*arrival, "nats-subject"), "orders.paid");
  EXPECT_EQ(arrival->broker_time, stored) << "the server's clock";
  int many = 0;
  for (const auto& header : arrival->headers) many += header.name == "many" ? 1 : 0;
  EXPECT_EQ(many, 2);
}

TEST(NatsArrival, WithoutAnIdThereIsNoBrokerKey) {
  const auto plain = message_with("a", std::string("\0x", 2));
  const auto arrival = arrival_of(*plain, {});
  EXPECT_EQ(arrival->payload.size(), 2U) << "payloads are bytes";
  EXPECT_FALSE(arrival->broker_key.has_value());
  natsMsgHeader_Set(plain.get(), "Nats-Msg-Id", "");
  EXPECT_FALSE(arrival_of(*plain, {})->broker_key.has_value());
}

}  // namespace
}  // namespace semel::nats
