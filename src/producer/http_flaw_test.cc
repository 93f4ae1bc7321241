#include "producer/http_flaw.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace semel::producer {
namespace {

core::HttpSpec endpoint() {
  core::HttpSpec spec;
  spec.url = "https://bank.example/pay";
  spec.headers = {{"Authorization", "Bearer t"}, {"X-Tenant", "ada"}};
  return spec;
}

std::string flaw_of(Headers headers, std::string type = {}) {
  OutgoingMessage message;
  message.headers = std::move(headers);
  message.type = std::move(type);
  message.content_type = "application/json";
  message.key = "o-1";
  return http_flaw(message, endpoint()).value_or("");
}

TEST(HttpFlaw, HeadersThatArriveAsTheyAreHaveNone) {
  EXPECT_EQ(flaw_of({{"X-Region", "eu"},
                     {"X-Region", "us"},
                     {"X-Empty", ""},
                     {"traceparent", "00-ab-cd-01"},
                     {"tracestate", "a=b"},
                     {"Ce-Subject", "\xC3\xA4"},
                     {"Content-Type", "application/json"},
                     {"Idempotency-Key", "\"o-1\""},
                     {"webhook-id", "o-1"}}),
            "");
  EXPECT_EQ(flaw_of({{"ce-type", "order.paid"}}, "order.paid"), "");
  EXPECT_EQ(flaw_of({}, "order.paid"), "");
}

TEST(HttpFlaw, NamesThatAreOfTheConnectionOrOfSemelAreRefused) {
  for (const char* name : {"Host", "content-length", "Transfer-Encoding", "connection"}) {
    EXPECT_NE(flaw_of({{name, "1"}}).find("of the connection"), std::string::npos) << name;
  }
  for (const char* name : {"semel-attempt", "Webhook-Timestamp", "webhook-signature"}) {
    EXPECT_NE(flaw_of({{name, "1"}}).find("Semel sends itself"), std::string::npos) << name;
  }
  for (const char* name : {"Idempotency-Key", "webhook-id"}) {
    EXPECT_NE(flaw_of({{name, "another"}}).find("another value than the key"), std::string::npos);
  }
  for (const char* name : {"authorization", "x-tenant"}) {
    EXPECT_NE(flaw_of({{name, "x"}}).find("HttpEndpoint::headers sets"), std::string::npos);
  }
  for (const char* name : {"", "a b", "cloudEvents:id", "ce-\xC3\xA4", "x\r\ny"}) {
    EXPECT_NE(flaw_of({{name, "1"}}).find("cannot be the name"), std::string::npos) << name;
  }
}

TEST(HttpFlaw, ValuesThatWouldArriveChangedAreRefused) {
  for (const char* value : {"a\r\nb", "\xC3\xA4", " a", "a\t", "\x7F"}) {
    EXPECT_NE(flaw_of({{"X-Region", value}}).find("printable ASCII"), std::string::npos) << value;
  }
  EXPECT_NE(flaw_of({{"content-type", "text/plain"}}).find("content_type"), std::string::npos);
  EXPECT_NE(flaw_of({{"ce-type", "order.paid"}}, "order.sent").find("order.paid"),
            std::string::npos);
}

TEST(HttpFlaw, TheUserOfTheUrlIsSentInAuthorization) {
  core::HttpSpec to = endpoint();
  to.headers.clear();
  OutgoingMessage message;
  message.key = "o-1";
  message.headers = {{"Authorization", "Bearer t"}};
  EXPECT_FALSE(http_flaw(message, to));
  to.url = "https://ada:pw@bank.example/pay";
  EXPECT_TRUE(http_flaw(message, to));
}

}  // namespace
}  // namespace semel::producer
