#include "sources/rabbitmq/arrival.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace semel::rabbitmq {
namespace {

amqp_table_entry_t entry(const char* name, char kind) {
  amqp_table_entry_t made{};
  made.key = amqp_cstring_bytes(name);
  made.value.kind = static_cast<std::uint8_t>(kind);
  return made;
}

amqp_table_entry_t text_entry(const char* name, const char* value) {
  auto made = entry(name, AMQP_FIELD_KIND_UTF8);
  made.value.value.bytes = amqp_cstring_bytes(value);
  return made;
}

Arrival arrival_with(std::vector<amqp_table_entry_t> entries) {
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {static_cast<int>(entries.size()), entries.data()};
  return *arrival_of(properties);
}

std::string value_in(const Arrival& arrival, const char* name) {
  return Bytes(find_header(arrival.headers, name).value_or("(none)"));
}

TEST(RabbitmqArrival, HeadersAreText) {
  auto number = entry("n", AMQP_FIELD_KIND_I64);
  number.value.value.i64 = -7;
  auto small = entry("small", AMQP_FIELD_KIND_I8);
  small.value.value.i8 = -1;
  auto yes = entry("yes", AMQP_FIELD_KIND_BOOLEAN);
  yes.value.value.boolean = 1;
  auto time = entry("time", AMQP_FIELD_KIND_TIMESTAMP);
  time.value.value.u64 = 1'700'000'000;
  auto price = entry("price", AMQP_FIELD_KIND_DECIMAL);
  price.value.value.decimal = {2, 5};
  auto half = entry("half", AMQP_FIELD_KIND_F64);
  half.value.value.f64 = 0.5;
  const Arrival arrival = arrival_with({text_entry("cloudEvents:id", "e-1"), number, small, yes,
                                        time, price, half, entry("nothing", AMQP_FIELD_KIND_VOID)});
  EXPECT_EQ(value_in(arrival, "cloudEvents:id"), "e-1");
  EXPECT_EQ(value_in(arrival, "n"), "-7");
  EXPECT_EQ(value_in(arrival, "small"), "-1");
  EXPECT_EQ(value_in(arrival, "yes"), "true");
  EXPECT_EQ(value_in(arrival, "time"), "1700000000");
  EXPECT_EQ(value_in(arrival, "price"), "0.05");
  EXPECT_EQ(value_in(arrival, "half"), "0.5");
  EXPECT_EQ(value_in(arrival, "nothing"), "");
}

TEST(RabbitmqArrival, WhatIsNestedIsJson) {
  std::array inner = {text_entry("queue", "q\"1"), text_entry("reason", "delivery_limit")};
  amqp_field_value_t death{};
  death.kind = AMQP_FIELD_KIND_TABLE;
  death.value.table = {static_cast<int>(inner.size()), inner.data()};
  auto deaths = entry("x-death", AMQP_FIELD_KIND_ARRAY);
  deaths.value.value.array = {1, &death};
  EXPECT_EQ(value_in(arrival_with({deaths}), "x-death"),
            R"([{"queue":"q\"1","reason":"delivery_limit"}])");
}

TEST(RabbitmqArrival, WhatIsNestedTooDeepIsCutAndNotFollowed) {
  std::vector<amqp_field_value_t> levels(10'000);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i].kind = AMQP_FIELD_KIND_ARRAY;
    levels[i].value.array = {i + 1 < levels.size() ? 1 : 0,
                             i + 1 < levels.size() ? &levels[i + 1] : nullptr};
  }
  auto deep = entry("deep", AMQP_FIELD_KIND_ARRAY);
  deep.value.value.array = {1, levels.data()};
  const std::string text = value_in(arrival_with({deep}), "deep");
  EXPECT_NE(text.find("null"), std::string::npos);
  EXPECT_LT(text.size(), 200U);
}

TEST(RabbitmqArrival, PropertiesHaveTheirPlaces) {
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                      AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG |
                      AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG;
  properties.content_type = amqp_cstring_bytes("application/json");
  properties.message_id = amqp_cstring_bytes("m-1");
  properties.type = amqp_cstring_bytes("order.paid");
  properties.correlation_id = amqp_cstring_bytes("c-1");
  properties.content_encoding = amqp_cstring_bytes("gzip");
  properties.timestamp = 5;
  const Arrival arrival = *arrival_of(properties);
  EXPECT_EQ(arrival.content_type, "application/json");
  EXPECT_EQ(arrival.broker_key, "m-1");
  EXPECT_EQ(arrival.type, "order.paid");
  EXPECT_EQ(value_in(arrival, "amqp-message-id"), "m-1");
  EXPECT_EQ(value_in(arrival, "amqp-correlation-id"), "c-1");
  EXPECT_EQ(value_in(arrival, "amqp-content-encoding"), "gzip");
  EXPECT_EQ(value_in(arrival, "amqp-timestamp"), "5");
  EXPECT_FALSE(arrival.broker_time.has_value()) << "the producer's clock is nobody's";
}

TEST(RabbitmqArrival, AnEmptyMessageIdIsNone) {
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG;
  EXPECT_FALSE(arrival_of(properties)->broker_key.has_value());
}

TEST(RabbitmqArrival, WhatTheBrokerAddsIsRead) {
  auto count = entry("x-delivery-count", AMQP_FIELD_KIND_I64);
  count.value.value.i64 = 12;
  EXPECT_EQ(brought_before(arrival_with({count}).headers), 12);
  EXPECT_EQ(brought_before({}), 0);
  EXPECT_FALSE(is_of_stream({}));
  EXPECT_TRUE(is_of_stream({{"x-stream-offset", "0"}}));
}

}  // namespace
}  // namespace semel::rabbitmq
