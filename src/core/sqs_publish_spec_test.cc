#include "core/sqs_publish_spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace semel::core {
namespace {

Message to_sqs(Headers headers, std::string_view key = "k-1", std::string_view payload = "{}",
               std::string_view ordering = {}) {
  Message::Parts parts;
  parts.key.text = key;
  parts.payload = payload;
  parts.headers = std::move(headers);
  parts.ordering_key = ordering;
  return Message(std::move(parts));
}

std::string value_in(const std::vector<SqsAttribute>& attributes, std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &SqsAttribute::name);
  return found == attributes.end() ? "(none)" : found->value;
}

TEST(SqsPublishSpec, HeadersAreAttributesWithTheKeyFirst) {
  const auto made = sqs_attributes_of(to_sqs({{"trace", "7"}, {"sqs-receive-count", "3"}}));
  ASSERT_EQ(made.size(), 2U) << "those of another queue stay behind";
  EXPECT_EQ(made[0].name, "Idempotency-Key");
  EXPECT_EQ(made[0].value, "k-1");
  EXPECT_EQ(value_in(made, "trace"), "7");
  EXPECT_FALSE(made[0].binary);
}

TEST(SqsPublishSpec, BytesThatAreNoTextAreBinary) {
  const auto made = sqs_attributes_of(to_sqs({{"odd", "\xff\x01"}}, std::string("k\0", 2)));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_TRUE(made[0].binary);
  EXPECT_TRUE(made[1].binary);
  EXPECT_EQ(value_in(made, "odd"), "\xff\x01");
}

TEST(SqsPublishSpec, MoreThanTenStandTogetherAndNoneIsLost) {
  Headers headers;
  for (int i = 0; i < 12; ++i) headers.push_back({fmt::format("h-{}", i), std::to_string(i)});
  headers.push_back({"traceparent", "00-x"});
  const auto made = sqs_attributes_of(to_sqs(headers));
  ASSERT_EQ(made.size(), kSqsMostAttributes);
  EXPECT_EQ(value_in(made, "Idempotency-Key"), "k-1");
  EXPECT_EQ(value_in(made, "traceparent"), "00-x") << "readers look for it";
  EXPECT_EQ(value_in(made, "h-6"), "6");
  EXPECT_EQ(value_in(made, kSqsMoreHeaders),
            R"([{"name":"h-7","value":"7"},{"name":"h-8","value":"8"},{"name":"h-9","value":"9"},)"
            R"({"name":"h-10","value":"10"},{"name":"h-11","value":"11"}])");
  headers.resize(9);
  EXPECT_EQ(value_in(sqs_attributes_of(to_sqs(headers)), kSqsMoreHeaders), "(none)") << "ten fit";
}

TEST(SqsPublishSpec, HeadersThatAreNoAttributesStandTogether) {
  for (const Header& header : Headers{{"", "1"},
                                      {"a b", "1"},
                                      {".a", "1"},
                                      {"a.", "1"},
                                      {"a..b", "1"},
                                      {"AWS.x", "1"},
                                      {"amazon.x", "1"},
                                      {"semel-headers", "1"},
                                      {std::string(257, 'n'), "1"},
                                      {"empty", ""}}) {
    const auto made = sqs_attributes_of(to_sqs({header}));
    ASSERT_EQ(made.size(), 2U) << header.name;
    EXPECT_EQ(made[1].name, kSqsMoreHeaders) << header.name;
  }
  const auto twice = sqs_attributes_of(to_sqs({{"a", "1"}, {"a", "\xff"}}));
  EXPECT_EQ(value_in(twice, "a"), "1");
  EXPECT_EQ(value_in(twice, kSqsMoreHeaders), R"([{"name":"a","value_base64":"/w=="}])");
}

TEST(SqsPublishSpec, TheGroupIsTheOrderingKey) {
  SqsFifo fifo;
  EXPECT_EQ(sqs_group_of(to_sqs({}), fifo), "k-1");
  EXPECT_EQ(sqs_group_of(to_sqs({}, "k-1", "{}", "customer-7"), fifo), "customer-7");
  EXPECT_TRUE(sqs_group_of(to_sqs({}, "k", "{}", "a b"), fifo).starts_with("sha256:"));
  fifo.group = "all";
  EXPECT_EQ(sqs_group_of(to_sqs({}, "k-1", "{}", "customer-7"), fifo), "all");
  EXPECT_TRUE(sqs_group_flaw("a b"));
  EXPECT_TRUE(sqs_group_flaw(std::string(129, 'g')));
  EXPECT_FALSE(sqs_group_flaw(std::string(128, 'g')));
}

TEST(SqsPublishSpec, ADeduplicationIdNamesKeyAndPayload) {
  using By = SqsFifo::Deduplication;
  std::set<std::string> ids;
  const std::string keys[] = {"k-1", "k-2", "k 1", std::string(200, 'k'), "sha256:x"};
  for (const std::string& key : keys) {
    for (const char* payload : {"{}", "[]"}) {
      const std::string id = sqs_deduplication_id_of(to_sqs({}, key, payload), By::kKeyAndPayload);
      EXPECT_LE(id.size(), 128U);
      EXPECT_EQ(id,
                sqs_deduplication_id_of(to_sqs({{"a", "b"}}, key, payload), By::kKeyAndPayload));
      ids.insert(id);
    }
  }
  EXPECT_EQ(ids.size(), 10U);
  EXPECT_TRUE(
      sqs_deduplication_id_of(to_sqs({}), By::kKeyAndPayload).starts_with("k-1.44136fa355b3678a"));
  EXPECT_EQ(sqs_deduplication_id_of(to_sqs({}, "k-1", "[]"), By::kKey), "k-1");
}

TEST(SqsPublishSpec, APayloadIsText) {
  EXPECT_FALSE(sqs_payload_flaw("{\"a\":\"\xC3\xBC\"}\t\r\n"));
  for (const std::string_view payload :
       {std::string_view(), std::string_view("\0", 1), std::string_view("\x1b[0m"),
        std::string_view("\xff"), std::string_view("\xEF\xBF\xBF")}) {
    EXPECT_TRUE(sqs_payload_flaw(payload)) << payload;
  }
}

TEST(SqsPublishSpec, AttributesCount) {
  EXPECT_EQ(sqs_size_of("12345", {{"name", "value", false}}), 5U + 4U + 6U + 5U);
}

TEST(SnsPublishSpec, ATopicIsReachedAtItsRegionOrItsEndpoint) {
  const auto topic = read_sns_topic("arn:aws:sns:eu-west-1:123456789012:orders.fifo", "");
  ASSERT_TRUE(topic) << topic.error().why;
  EXPECT_EQ(topic->endpoint, "https://sns.eu-west-1.amazonaws.com/");
  EXPECT_EQ(topic->region, "eu-west-1");
  EXPECT_EQ(topic->name, "orders.fifo");
  EXPECT_TRUE(topic->fifo());
  EXPECT_EQ(read_sns_topic("arn:aws-cn:sns:cn-north-1:1:a", "")->endpoint,
            "https://sns.cn-north-1.amazonaws.com.cn/");
  EXPECT_EQ(read_sns_topic("arn:aws:sns:eu-west-1:1:a", "http://localhost:5000/")->endpoint,
            "http://localhost:5000/");
  for (const char* arn : {"", "orders", "arn:aws:sqs:eu-west-1:1:a", "arn:aws:sns:eu-west-1:1:a b",
                          "arn:aws:sns:eu-west-1:1:a:b", "arn:aws:sns::1:a"}) {
    ASSERT_FALSE(read_sns_topic(arn, "")) << arn;
    EXPECT_FALSE(read_sns_topic(arn, "").error().of_the_endpoint) << arn;
  }
  EXPECT_TRUE(
      read_sns_topic("arn:aws:sns:eu-west-1:1:a", "ftp://localhost").error().of_the_endpoint);
}

TEST(SqsPublishSpec, OneQueueByItsHostAndPath) {
  const auto url = [](const char* text) { return read_sqs_url(text).value(); };
  const auto orders = url("https://sqs.eu-west-1.amazonaws.com/1/orders");
  EXPECT_TRUE(same_sqs_queue(orders, url("https://SQS.eu-west-1.amazonaws.com:443/1/orders")));
  EXPECT_FALSE(same_sqs_queue(orders, url("https://sqs.eu-west-1.amazonaws.com/2/orders")));
  EXPECT_FALSE(same_sqs_queue(orders, url("https://sqs.eu-west-2.amazonaws.com/1/orders")));
}

}  // namespace
}  // namespace semel::core
