#include "handlers/exec/message_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <semel/trace.h>

#include "tests/support/set_variable.h"

namespace semel::handlers::exec {
namespace {

std::vector<std::string> made_of(Message::Parts parts) {
  core::ExecSpec spec;
  spec.consumer = "thumbs";
  spec.source = "queue";
  return message_environment(spec, Message(std::move(parts)), Attempt{});
}

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& entry) { return entry.starts_with(name); });
}

TEST(EnvironmentKey, TextStaysAsItIs) {
  for (const auto* key : {"pay-1", "a b", "bücher/7", "{\"a\":1}", "=", "😀"}) {
    EXPECT_EQ(environment_key(key), key);
  }
}

TEST(EnvironmentKey, EverythingElseIsPercentEncoded) {
  EXPECT_EQ(environment_key(std::string("a\0b", 3)), "a%00b");
  EXPECT_EQ(environment_key("50%"), "50%25");
  EXPECT_EQ(environment_key("a\nb\x7F"), "a%0Ab%7F");
  EXPECT_EQ(environment_key("\xFF\xC3"), "%FF%C3");
  EXPECT_EQ(environment_key("\xC2\x9B"), "%C2%9B");
}

TEST(EnvironmentKey, TwoKeysNeverBecomeOne) {
  const std::set<std::string> keys = {
      "a%00b", std::string("a\0b", 3), "a%2500b", "%", "%25", "\xFF", "%FF"};
  std::set<std::string> encoded;
  for (const auto& key : keys) encoded.insert(environment_key(key));
  EXPECT_EQ(encoded.size(), keys.size());
}

TEST(MessageEnvironment, WhatIsNotKnownIsNotSet) {
  const auto made = made_of({});
  for (const auto* name : {"SEMEL_TYPE", "SEMEL_CONTENT_TYPE", "TRACEPARENT", "SEMEL_TOKEN"}) {
    EXPECT_FALSE(has(made, name)) << name;
  }
  for (const auto* entry : {"SEMEL_ATTEMPT=1", "SEMEL_TAKEN_OVER=0", "SEMEL_SINCE_FIRST_MS=0"}) {
    EXPECT_TRUE(has(made, entry)) << entry;
  }
}

TEST(MessageEnvironment, WhatNoEnvironmentCanHoldIsNotSet) {
  Message::Parts parts;
  parts.type = std::string("a\0b", 3);
  parts.content_type = "text/plain; x=%41";
  const auto made = made_of(parts);
  EXPECT_FALSE(has(made, "SEMEL_TYPE"));
  EXPECT_TRUE(has(made, "SEMEL_CONTENT_TYPE=text/plain; x=%41"));
}

TEST(MessageEnvironment, OnlyATraceparentIsPassedOn) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto passed = [](const std::string& value) {
    Message::Parts parts;
    parts.headers = {{"traceparent", value}};
    return has(made_of(parts), "TRACEPARENT=" + value);
  };
  EXPECT_TRUE(passed(good));
  EXPECT_TRUE(passed(good + "-later"));
  for (const auto& bad :
       {std::string(), good.substr(1), good + "x", good + "-\n", std::string(55, '0'),
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01" + std::string(),
        good + "-" + std::string(1'000, 'x')}) {
    EXPECT_FALSE(passed(bad)) << bad;
  }
}

TEST(OwnEnvironment, IsThisProcessOwn) {
  const test::SetVariable key("SEMEL_KEY", "inherited");
  const test::SetVariable file("SEMEL_KEY_FILE", "another thing");
  const auto own = own_environment();
  EXPECT_EQ(value_in(own, "SEMEL_KEY"), "");
  EXPECT_EQ(value_in(own, "SEMEL_KEY_FILE"), "another thing");
  EXPECT_NE(value_in(own, "PATH"), "");
}

TEST(MessageEnvironment, NamesTheSpanOfATracedMessageAsTheParent) {
  auto span = std::make_shared<DeliverySpan>();
  span->context.trace_id.fill(0xAB);
  span->context.span_id.fill(0xCD);
  Message::Parts parts;
  parts.headers = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}};
  parts.span = std::move(span);
  EXPECT_TRUE(
      has(made_of(parts), "TRACEPARENT=00-abababababababababababababababab-cdcdcdcdcdcdcdcd-01"));
}

}  // namespace
}  // namespace semel::handlers::exec
