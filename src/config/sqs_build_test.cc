#include "config/sqs_build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "config/test_load.h"

namespace semel::config {
namespace {

constexpr const char* kSqsQueue = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";

Loaded load_sqs(const std::string& source, const std::string& more = {}) {
  return load_text("consumers:\n  - name: a\n    source: { sqs: " + source +
                       " }\n    key: json:/id\n    handler: { exec: [./work] }\n" + more,
                   "semel.yaml");
}

bool says_code(const Loaded& loaded, std::string_view code) {
  return std::ranges::any_of(loaded.diagnostics,
                             [&](const Diagnostic& said) { return said.code == code; });
}

std::string with_queue(const std::string& more, const std::string& url = kSqsQueue) {
  return "{ queue_url: \"" + url + "\", " + more + " }";
}

TEST(SqsBuild, AQueueUrlIsEnough) {
  const Loaded loaded = load_sqs(with_queue(""));
  ASSERT_TRUE(loaded.config) << all_of(loaded);
  const auto& consumer = loaded.config->consumers.at(0);
  const auto& spec = std::get<SqsSource>(consumer.source).spec;
  EXPECT_EQ(spec.queue.name, "orders");
  EXPECT_EQ(spec.region, "eu-west-1");
  EXPECT_EQ(spec.prefetch, core::SqsSpec::kUsualPrefetch);
  EXPECT_EQ(spec.visibility, core::SqsSpec::kUsualVisibility);
  EXPECT_TRUE(spec.keys.access_key_id.empty());
  EXPECT_FALSE(consumer.order.has_value());
  EXPECT_EQ(effective_ttl(consumer), DedupConfig::kAutoTtlOnSqs);
}

TEST(SqsBuild, TakesEveryField) {
  const Loaded loaded = load_sqs(with_queue(
      "region: eu-north-1, prefetch: 7, visibility_timeout: 5m, wait: 3s, ca_file: ca.pem, "
      "credentials: { access_key_id: AKID, secret_access_key: x, session_token: t }"));
  ASSERT_TRUE(loaded.config) << all_of(loaded);
  const auto& spec = std::get<SqsSource>(loaded.config->consumers.at(0).source).spec;
  EXPECT_EQ(spec.region, "eu-north-1") << "what is written";
  EXPECT_EQ(spec.prefetch, 7);
  EXPECT_EQ(spec.visibility, std::chrono::minutes(5));
  EXPECT_EQ(spec.wait, std::chrono::seconds(3));
  EXPECT_EQ(spec.keys.access_key_id, "AKID");
  EXPECT_EQ(spec.keys.secret_access_key, "x");
  EXPECT_EQ(spec.keys.session_token, "t");
  const Loaded profile = load_sqs(with_queue("profile: billing"));
  ASSERT_TRUE(profile.config) << all_of(profile);
  EXPECT_EQ(std::get<SqsSource>(profile.config->consumers.at(0).source).spec.profile, "billing");
}

TEST(SqsBuild, AFifoQueueIsInOrderByItsGroups) {
  const std::string fifo = std::string(kSqsQueue) + ".fifo";
  const Loaded loaded = load_sqs(with_queue("", fifo));
  ASSERT_TRUE(loaded.config) << all_of(loaded);
  const auto& order = loaded.config->consumers.at(0).order;
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->key->text, "header:sqs-message-group-id");
  EXPECT_EQ(order->on_failure, core::Order::OnFailure::kHoldKey);
  const Loaded own = load_sqs(with_queue("", fifo), "    order: { key: json:/account }\n");
  ASSERT_TRUE(own.config) << all_of(own);
  EXPECT_EQ(own.config->consumers.at(0).order->key->text, "json:/account");
}

TEST(SqsBuild, WhatIsWrongIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {with_queue("", "sqs://h/1/orders"), "E014"},
      {with_queue("", "http://localhost:9324/0/orders"), "E038"},
      {with_queue("credentials: { access_key_id: AKID }"), "E038"},
      {with_queue("profile: p, credentials: { access_key_id: A, secret_access_key: x }"), "E038"},
      {with_queue("visibility_timeout: 13h"), "E015"},
      {with_queue("wait: 21s"), "E015"}};
  for (const auto& [source, code] : cases) {
    const Loaded loaded = load_sqs(source);
    EXPECT_FALSE(loaded.config) << source;
    EXPECT_TRUE(says_code(loaded, code)) << source << '\n' << all_of(loaded);
  }
}

TEST(SqsBuild, TwoConsumersAtOneQueueAreRefused) {
  const Loaded loaded =
      load_text(std::string("consumers:\n") + "  - { name: a, source: { sqs: { queue_url: '" +
                    kSqsQueue + "' } }, key: json:/id, handler: { exec: [./work] } }\n" +
                    "  - { name: b, source: { sqs: { queue_url: '" + kSqsQueue +
                    "' } }, key: json:/id, handler: { exec: [./work] } }\n",
                "semel.yaml");
  EXPECT_FALSE(loaded.config);
  EXPECT_TRUE(says_code(loaded, "E028")) << all_of(loaded);
}

// Amazon's hosts have several names for one queue.
TEST(SqsBuild, TwoUrlsOfOneQueueAreOneQueue) {
  const auto load_both = [](const std::string& other) {
    return load_text(std::string("consumers:\n") + "  - { name: a, source: { sqs: { queue_url: '" +
                         kSqsQueue +
                         "' } }, key: json:/id, handler: { exec: [./work] } }\n"
                         "  - { name: b, source: { sqs: { queue_url: '" +
                         other + "' } }, key: json:/id, handler: { exec: [./work] } }\n",
                     "semel.yaml");
  };
  for (const char* same : {"https://eu-west-1.queue.amazonaws.com/123456789012/orders",
                           "https://sqs.eu-west-1.amazonaws.com:443/123456789012/orders/"}) {
    const Loaded loaded = load_both(same);
    EXPECT_TRUE(says_code(loaded, "E028")) << same << all_of(loaded);
  }
  const Loaded other = load_both("https://sqs.eu-west-2.amazonaws.com/123456789012/orders");
  EXPECT_FALSE(says_code(other, "E028")) << all_of(other);
}

}  // namespace
}  // namespace semel::config
