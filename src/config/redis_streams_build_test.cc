// Reads `source.redis_streams` of configs: its spec, its errors, and how it is shown.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

std::string on_stream(const std::string& more, const std::string& key = "    key: json:/id\n") {
  return "consumers:\n  - name: orders\n    source:\n      redis_streams:\n"
         "        url: \"${REDIS_URL:-redis://redis/1}\"\n        stream: orders\n"
         "        group: billing\n" +
         more + key;
}

const core::RedisStreamsSpec& streams_of(const Config& config) {
  return std::get<RedisStreamsSource>(config.consumers.at(0).source).spec;
}

void expect_only(const std::string& yaml, const std::string& code, const std::string& help) {
  const auto loaded = load_text(yaml, "semel.yaml", with_env({}));
  ASSERT_EQ(loaded.diagnostics.size(), 1U) << all_of(loaded);
  EXPECT_EQ(loaded.diagnostics[0].code, code) << all_of(loaded);
  EXPECT_NE(loaded.diagnostics[0].help.find(help), std::string::npos) << all_of(loaded);
}

TEST(RedisStreamsConfig, BecomesItsSpec) {
  const auto config =
      good(on_stream("        consumer: billing-1\n        payload: data\n"
                     "        prefetch: 20\n        declare: true\n"
                     "        from: latest\n        claim_after: 10s\n"));
  const auto& spec = streams_of(config);
  EXPECT_EQ(spec.url, "redis://redis/1");
  EXPECT_EQ(spec.stream, "orders");
  EXPECT_EQ(spec.group, "billing");
  EXPECT_EQ(spec.consumer, "billing-1");
  EXPECT_EQ(spec.payload, "data");
  EXPECT_EQ(spec.prefetch, 20);
  EXPECT_TRUE(spec.declare);
  EXPECT_EQ(spec.from, core::RedisStreamsSpec::From::kLatest);
  EXPECT_EQ(spec.claim_after, std::chrono::seconds(10));
}

TEST(RedisStreamsConfig, WhatIsNotSaidIsAsUsual) {
  const auto spec = streams_of(good(on_stream("")));
  EXPECT_EQ(spec.prefetch, core::RedisStreamsSpec::kUsualPrefetch);
  EXPECT_EQ(spec.claim_after, core::RedisStreamsSpec::kUsualClaimAfter);
  EXPECT_EQ(spec.payload, core::RedisStreamsSpec().payload);
  EXPECT_TRUE(spec.consumer.empty());
  EXPECT_FALSE(spec.declare);
}

TEST(RedisStreamsConfig, WhatIsWrongIsNamedWithItsFix) {
  const std::string head =
      "consumers:\n  - name: a\n    key: json:/id\n    source: { redis_streams: ";
  expect_only(head + "{ url: \"http://x\", stream: s, group: g } }\n", "E014", "redis://");
  expect_only(head + "{ url: \"redis://x\", stream: \"a\\nb\", group: g } }\n", "E014", "stream:");
  expect_only(head + "{ url: \"redis://x\", stream: s, group: g, from: latest } }\n", "E038",
              "declare");
  expect_only(head + "{ url: \"redis://x\", stream: s, group: g, claim_after: 10ms } }\n", "E015",
              "1s");
}

TEST(RedisStreamsConfig, WithoutAKeyOnlyStandardsAreTaken) {
  expect_only(on_stream("", ""), "W034", "header:NAME");
  expect_only(on_stream("", "    key: position\n"), "W033", "json:/your_id");
  good(on_stream("", "    key: header:webhook-id\n"));
}

TEST(RedisStreamsConfig, AnOrderAsksForANameThatStays) {
  const std::string order = "    key: json:/id\n    order: { key: json:/sku }\n";
  expect_only(on_stream("", order), "W048", "consumer");
  good(on_stream("        consumer: billing-1\n", order));
  good(on_stream("", order + "    accept: [W048]\n"));
}

TEST(RedisStreamsConfig, TwoConsumersDoNotShareAGroup) {
  const std::string other =
      "  - name: audit\n    key: json:/id\n    source: { redis_streams: { url: "
      "\"redis://redis/1\", "
      "stream: orders, group: ";
  const auto same = load_text(on_stream("") + other + "billing } }\n", "semel.yaml", with_env({}));
  EXPECT_NE(all_of(same).find("E028"), std::string::npos) << all_of(same);
  const auto own = load_text(on_stream("") + other + "audit } }\n", "semel.yaml", with_env({}));
  EXPECT_EQ(all_of(own).find("E028"), std::string::npos) << all_of(own);
}

TEST(RedisStreamsConfig, PasswordsAreNeverShown) {
  const std::string yaml =
      "consumers:\n  - name: a\n    key: json:/id\n    source: { redis_streams: { url: "
      "\"redis://me:hunter2@h/0\", stream: s, group: g } }\n";
  const auto loaded = load_text(yaml, "/not/there/semel.yaml", with_env({}));
  EXPECT_EQ(all_of(loaded).find("hunter2"), std::string::npos) << all_of(loaded);
  EXPECT_NE(all_of(loaded).find("W031"), std::string::npos);
  for (const auto& each : loaded.effective) {
    EXPECT_EQ(each.value.find("hunter2"), std::string::npos) << each.path;
  }
}

}  // namespace
}  // namespace semel::config
