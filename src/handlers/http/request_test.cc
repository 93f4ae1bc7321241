#include "handlers/http/request.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>

#include <semel/trace.h>

#include "tests/support/builders.h"

namespace semel::handlers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;
using Style = core::HttpSpec::KeyStyle;

constexpr system_clock::time_point kSent{milliseconds(1'700'000'000'250)};

class RequestPlanTest : public testing::Test {
 protected:
  RequestPlanTest() {
    spec_.consumer = "emails";
    spec_.source = "file";
    parts_ = test::make_parts(ConsumerNumber{1}, "k-1", "{}");
  }
  std::string value(std::string_view name) {
    const Headers made = RequestPlan(spec_).headers(Message(parts_), attempt_, kSent);
    std::string all;
    for (const Header& header : made) {
      if (header.name == name) all += (all.empty() ? "" : "|") + header.value;
    }
    return all;
  }
  core::HttpSpec spec_;
  Message::Parts parts_;
  Attempt attempt_;
};

TEST_F(RequestPlanTest, SaysWhoseAttemptThisIs) {
  attempt_.number = 3;
  attempt_.position = "4096";
  attempt_.since_first = seconds(90);
  EXPECT_EQ(value("semel-consumer"), "emails");
  EXPECT_EQ(value("semel-attempt"), "3");
  EXPECT_EQ(value("semel-delivery"), "4096");
  EXPECT_EQ(value("semel-first-seen"), "2023-11-14T22:11:50.250Z");
  EXPECT_EQ(value("semel-source"), "file");
  EXPECT_EQ(value("webhook-timestamp"), "1700000000");
}

TEST_F(RequestPlanTest, PassesOnCloudEventsAndTracesAndNothingElse) {
  parts_.headers = {{"ce-id", "7"},        {"Ce-Source", "/shop"},   {"TraceParent", "00-ab-cd-01"},
                    {"tracestate", "a=b"}, {"Cookie", "secret"},     {"semel-attempt", "99"},
                    {"ce-id", "8"},        {"webhook-id", "forged"}, {"cex", "no"}};
  EXPECT_EQ(value("ce-id"), "7") << "the first one, once";
  EXPECT_EQ(value("Ce-Source"), "/shop");
  EXPECT_EQ(value("TraceParent"), "00-ab-cd-01");
  EXPECT_EQ(value("tracestate"), "a=b");
  EXPECT_EQ(value("Cookie"), "");
  EXPECT_EQ(value("cex"), "");
  EXPECT_EQ(value("semel-attempt"), "1");
  EXPECT_TRUE(value("webhook-id").starts_with("msg_"));
}

TEST_F(RequestPlanTest, OfAProducersMessageEveryHeaderAndTheTypeAreSent) {
  spec_.every_header = true;
  parts_.type = "order.paid";
  parts_.headers = {{"X-Tag", "a"},
                    {"x-tag", "b"},
                    {"webhook-id", "k-1"},
                    {"ce-source", "shop"},
                    {"idempotency-key", "k-1"}};
  EXPECT_EQ(value("X-Tag"), "a");
  EXPECT_EQ(value("x-tag"), "b");
  EXPECT_EQ(value("ce-source"), "shop");
  EXPECT_EQ(value("ce-type"), "order.paid");
  EXPECT_EQ(value("idempotency-key"), "\"k-1\"") << "once";
  EXPECT_TRUE(value("webhook-id").starts_with("msg_")) << "once";
  parts_.headers.push_back({"Ce-Type", "order.paid"});
  EXPECT_EQ(value("ce-type"), "");
  EXPECT_EQ(value("Ce-Type"), "order.paid");
}

TEST_F(RequestPlanTest, TheContentTypeIsAsTheSourceOrTheSenderSaidIt) {
  EXPECT_EQ(value("content-type"), "");
  parts_.headers = {{"Content-Type", "text/plain"}};
  EXPECT_EQ(value("content-type"), "text/plain");
  parts_.content_type = "application/json";
  EXPECT_EQ(value("content-type"), "application/json");
  spec_.headers = {{"Content-Type", "application/xml"}};
  EXPECT_EQ(value("content-type") + value("Content-Type"), "application/xml");
}

TEST_F(RequestPlanTest, TheIdIsTheSameForEveryAttempt) {
  const std::string first = value("webhook-id");
  attempt_.number = 7;
  EXPECT_EQ(value("webhook-id"), first);
  EXPECT_EQ(first.size(), 30U);
  EXPECT_EQ(first.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567_"), std::string::npos);
  const std::set<std::string> all = {webhook_id("emails", "k-1"), webhook_id("emails", "k-2"),
                                     webhook_id("email", "sk-1"), webhook_id("other", "k-1")};
  EXPECT_EQ(all.size(), 4U);
  EXPECT_TRUE(all.contains(first));
}

// The expected values were computed by another program, in another language.
TEST_F(RequestPlanTest, SignsAsStandardWebhooksAsks) {
  spec_.signing_secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
  parts_.payload = R"({"test": 2432232314})";
  EXPECT_EQ(value("webhook-id"), "msg_pqdff7fizktflb7wcgnuac53eq");
  EXPECT_EQ(value("webhook-signature"), "v1,aN+c9+B6zydSQT7pmCnyn+6T1Lb0ST0f0tGQ0OwDbzU=");
  spec_.signing_secrets.push_back("whsec_c2VjcmV0");
  EXPECT_EQ(value("webhook-signature"),
            "v1,aN+c9+B6zydSQT7pmCnyn+6T1Lb0ST0f0tGQ0OwDbzU= "
            "v1,222HK0D9JL3PMnQToLz1eTHEgbbIfYz7KcOwIdu+DIw=");
  spec_.signing_secrets.clear();
  EXPECT_EQ(value("webhook-signature"), "");
}

TEST(IdempotencyKey, StandsAsAStructuredFieldString) {
  EXPECT_EQ(idempotency_key("order-7", Style::kQuoted), "\"order-7\"");
  EXPECT_EQ(idempotency_key(R"(a"b\c)", Style::kQuoted), R"("a\"b\\c")");
  EXPECT_EQ(idempotency_key(" x ", Style::kQuoted), "\" x \"");
  EXPECT_EQ(idempotency_key("order-7", Style::kBare), "order-7");
  EXPECT_EQ(idempotency_key(R"(a"b)", Style::kBare), R"(a"b)");
}

TEST(IdempotencyKey, OtherBytesBecomeAByteSequence) {
  EXPECT_EQ(idempotency_key("\xC3\xA4", Style::kQuoted), ":w6Q=:");
  EXPECT_EQ(idempotency_key("\xC3\xA4", Style::kBare), ":w6Q=:");
  EXPECT_EQ(idempotency_key(BytesView("a\0b", 3), Style::kQuoted), ":YQBi:");
  EXPECT_EQ(idempotency_key("a\r\nb", Style::kBare), ":YQ0KYg==:");
}

TEST(IdempotencyKey, NoTwoKeysMeet) {
  for (const Style style : {Style::kQuoted, Style::kBare}) {
    std::set<std::string> seen;
    const std::string_view keys[] = {"a", " a",   "a ",     "\"a\"", "\xC3\xA4", ":w6Q=:",
                                     ":", "w6Q=", ":w6Q=",  "a\n",   "a\r",      "\t",
                                     " ", "\\a",  ":Og==:", "\\\"a"};
    for (const auto key : keys) {
      const std::string value = idempotency_key(key, style);
      EXPECT_TRUE(seen.insert(value).second) << value;
      EXPECT_FALSE(value.starts_with(' ') || value.ends_with(' '));
      EXPECT_TRUE(core::is_header_value(value));
    }
  }
}

TEST(FieldValue, HoldsNoControlBytes) {
  EXPECT_EQ(field_value("plain \"text\" 100%"), "plain \"text\" 100%");
  EXPECT_EQ(field_value("a\r\nb\tc\x7F"), "a%0D%0Ab%09c%7F");
  EXPECT_EQ(field_value("\xC3\xA4"), "%C3%A4");
}

TEST_F(RequestPlanTest, NamesTheSpanOfATracedMessageAsTheParent) {
  auto span = std::make_shared<DeliverySpan>();
  span->context.trace_id.fill(0xAB);
  span->context.span_id.fill(0xCD);
  span->parent.emplace().fill(0x33);
  parts_.headers = {{"TraceParent", "00-ab-cd-01"}, {"tracestate", "a=b"}};
  parts_.span = std::move(span);
  EXPECT_EQ(value("traceparent"), "00-abababababababababababababababab-cdcdcdcdcdcdcdcd-01");
  EXPECT_EQ(value("TraceParent"), "") << "its own stands in place of it";
  EXPECT_EQ(value("tracestate"), "a=b");
}

}  // namespace
}  // namespace semel::handlers
