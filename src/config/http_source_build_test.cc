// A config's HTTP source: its spec, its errors and its warnings.
#include "config/http_source_build.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

namespace semel::config {
namespace {

using Mode = core::HttpSourceSpec::Mode;
using Scheme = core::HttpSignature::Scheme;
using std::chrono::seconds;

constexpr std::string_view kExec = "{ exec: ./work }";

std::string consumer_with(std::string_view http, std::string_view more = "",
                          std::string_view handler = kExec) {
  return fmt::format(
      "consumers:\n  - name: orders\n    source: {{ http: {} }}\n    handler: {}\n{}", http,
      handler, more);
}

Loaded load_http(const std::string& text) { return load_text(text, "/etc/semel/semel.yaml"); }

std::string codes_of(const Loaded& loaded) {
  std::string codes;
  for (const Diagnostic& one : loaded.diagnostics) codes += one.code + " ";
  return codes;
}

ConsumerConfig first_of(const std::string& text) {
  const auto loaded = load_http(text);
  EXPECT_TRUE(loaded.config) << text << format(loaded.diagnostics.front(), false);
  return loaded.config ? loaded.config->consumers.at(0) : ConsumerConfig();
}

core::HttpSourceSpec spec_of(const std::string& text) {
  const auto consumer = first_of(text);
  const auto* http = std::get_if<HttpSource>(&consumer.source);
  EXPECT_NE(http, nullptr);
  return http != nullptr ? http->spec : core::HttpSourceSpec();
}

TEST(HttpSourceConfig, BecomesItsSpec) {
  const auto spec = spec_of(consumer_with(
      "{ listen: \"127.0.0.1:8081\", path: /hooks, path_prefix: /in, max_batch: 5, mode: accepted, "
      "timeout: 5s, idle_timeout: 9s, "
      "receive_timeout: 4s, max_connections: 7, max_requests: 6, max_bytes: 2KiB, signature: { "
      "stripe: \"a,b\", tolerance: 1m }, tls: { certificate: tls.pem, key: /k.pem } }",
      "    key: [json:/id, header:X-Id]\n    limits: { payload: 1KiB }\n"));
  EXPECT_EQ(spec.listen.text(), "127.0.0.1:8081");
  EXPECT_EQ(spec.path, "/hooks");
  EXPECT_EQ(spec.path_prefix, "/in");
  EXPECT_EQ(spec.max_batch, 5U);
  EXPECT_EQ(spec.mode, Mode::kAccepted);
  EXPECT_EQ(spec.timeout, seconds(5));
  EXPECT_EQ(spec.idle_timeout, seconds(9));
  EXPECT_EQ(spec.receive_timeout, seconds(4));
  EXPECT_EQ(spec.max_connections, 7U);
  EXPECT_EQ(spec.max_requests, 6U);
  EXPECT_EQ(spec.max_bytes, 2048U);
  EXPECT_EQ(spec.max_body, 1024U);
  ASSERT_TRUE(spec.signature);
  EXPECT_EQ(spec.signature->scheme, Scheme::kStripe);
  EXPECT_EQ(spec.signature->secrets, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(spec.signature->tolerance, seconds(60));
  ASSERT_TRUE(spec.tls);
  EXPECT_EQ(spec.tls->certificate, "/etc/semel/tls.pem");
  EXPECT_EQ(spec.tls->key, "/k.pem");
  EXPECT_EQ(std::ranges::count(spec.key_headers, "X-Id"), 1);
}

// A key in a request header is the same for all events of a batch.
TEST(HttpSourceConfig, ABatchIsSplitWhereItsEventsHaveKeys) {
  const auto splits = [](const std::string& key, const std::string& more = "") {
    return spec_of(consumer_with("{ listen: \"127.0.0.1:8081\"" + more + " }", key)).splits_batches;
  };
  const std::string standard =
      ", signature: { standard_webhooks: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw }";
  EXPECT_TRUE(splits(""));
  EXPECT_TRUE(splits("    key: json:/id\n"));
  EXPECT_TRUE(splits("    key: [header:X-Tenant, json:/id]\n"));
  EXPECT_TRUE(splits("    key: cloudevents\n", standard)) << "the body is signed too";
  EXPECT_FALSE(splits("", standard)) << "webhook-id is its key";
  EXPECT_FALSE(splits("    key: header:X-Id\n"));
}

TEST(HttpSourceConfig, TheModeFollowsTheConsumer) {
  const auto plain = first_of(consumer_with("127.0.0.1:8081"));
  EXPECT_EQ(std::get<HttpSource>(plain.source).spec.mode, Mode::kCompleted);
  EXPECT_EQ(plain.defer, ConsumerConfig::Defer::kNever);
  const auto accepted = first_of(consumer_with("{ listen: 127.0.0.1:8081, mode: accepted }"));
  EXPECT_EQ(accepted.defer, ConsumerConfig::Defer::kHere);
  const auto fence =
      first_of(consumer_with("127.0.0.1:8081", "", "{ http: \"http://localhost/a\" }"));
  EXPECT_EQ(fence.strategy, core::StrategyKind::kFence);
  EXPECT_EQ(std::get<HttpSource>(fence.source).spec.mode, Mode::kAccepted);
  EXPECT_EQ(fence.defer, ConsumerConfig::Defer::kNever) << "it defers by its strategy";
  const auto deferred = first_of(consumer_with("127.0.0.1:8081", "    defer: elsewhere\n"));
  EXPECT_EQ(std::get<HttpSource>(deferred.source).spec.mode, Mode::kAccepted);
  EXPECT_EQ(deferred.defer, ConsumerConfig::Defer::kElsewhere);
}

TEST(HttpSourceConfig, ASignedRequestIsKnownByTheHeaderThatIsSigned) {
  const auto is_webhook_id = [](const std::string& source, const std::string& more = {}) {
    const auto consumer = first_of(consumer_with(source, more));
    return consumer.key.parts.size() == 1 &&
           std::holds_alternative<core::KeyPart::WebhookIdPart>(consumer.key.parts[0].what);
  };
  const std::string signed_source =
      "{ listen: 127.0.0.1:8081, signature: { standard_webhooks: "
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw } }";
  EXPECT_TRUE(is_webhook_id(signed_source));
  EXPECT_FALSE(is_webhook_id(signed_source, "    key: json:/id\n"));
  EXPECT_FALSE(is_webhook_id("127.0.0.1:8081"));
}

TEST(HttpSourceConfig, AnAnswerThatCannotBeGivenIsRefused) {
  constexpr std::string_view kCompleted = "{ listen: 127.0.0.1:8081, mode: completed }";
  EXPECT_EQ(codes_of(load_http(consumer_with(kCompleted, "    defer: here\n"))), "E066 ");
  EXPECT_EQ(codes_of(load_http(consumer_with(kCompleted, "", "{ http: \"http://localhost/a\" }"))),
            "E066 ");
  EXPECT_EQ(codes_of(load_http(consumer_with(
                kCompleted, "    front: { memory: {} }\n    strategy: state_machine\n"))),
            "E066 ");
  EXPECT_EQ(codes_of(load_http(consumer_with("127.0.0.1:8081", "    key: { missing: fail }\n"))),
            "E066 ");
  EXPECT_EQ(codes_of(load_http("store: { memory: {} }\n" +
                               consumer_with("{ listen: 127.0.0.1:8081, mode: accepted }"))),
            "E030 ");
}

TEST(HttpSourceConfig, WhatCannotBeReadIsRefused) {
  EXPECT_EQ(codes_of(load_http(consumer_with("{ listen: here }"))), "E014 ");
  EXPECT_EQ(codes_of(load_http(consumer_with("{ listen: 127.0.0.1:8081, path: in }"))), "E014 ");
  EXPECT_EQ(codes_of(load_http(consumer_with("{ listen: 127.0.0.1:8081, path_prefix: /in/ }"))),
            "E014 ");
  EXPECT_EQ(codes_of(load_http(consumer_with("{ path: /in }"))), "E017 ");
  EXPECT_EQ(codes_of(load_http(consumer_with("127.0.0.1:8081", "    key: position\n"))), "E029 ");
  const auto wrong = load_http(
      consumer_with("{ listen: 127.0.0.1:8081, signature: { standard_webhooks: hunter2 } }"));
  EXPECT_EQ(codes_of(wrong), "E052 W031 ");
  EXPECT_EQ(format(wrong.diagnostics.front(), false).find("hunter2"), std::string::npos);
  EXPECT_EQ(codes_of(load_http(
                consumer_with("{ listen: 127.0.0.1:8081, signature: { stripe: a, github: b } }",
                              "    accept: [W031]\n    key: json:/id\n"))),
            "E018 ");
}

TEST(HttpSourceConfig, TwoListenersAtOneAddressAreRefused) {
  const std::string two =
      consumer_with("127.0.0.1:8081") +
      "  - name: mails\n    source: { http: 127.0.0.1:8081 }\n    handler: { exec: ./work }\n";
  EXPECT_EQ(codes_of(load_http(two)), "E065 ");
  EXPECT_EQ(
      codes_of(load_http("admin: { listen: 127.0.0.1:8081 }\n" + consumer_with("127.0.0.1:8081"))),
      "E065 ");
  EXPECT_EQ(codes_of(load_http("admin: { listen: 127.0.0.1:0 }\n" + consumer_with("127.0.0.1:0"))),
            "");
  EXPECT_EQ(
      codes_of(load_http("admin: { socket: /run/a.sock }\n" + consumer_with("127.0.0.1:8585"))), "")
      << "nothing listens at admin's usual address";
}

TEST(HttpSourceConfig, WarnsOfAnOpenDoorAndOfRequestsWithoutAKey) {
  EXPECT_EQ(codes_of(load_http(consumer_with("\":8081\""))), "W047 ");
  EXPECT_EQ(codes_of(load_http(consumer_with("\":8081\"", "    accept: [W047]\n"))), "");
  const auto signed_by = [](std::string_view scheme, std::string_view more) {
    return codes_of(load_http(consumer_with(
        fmt::format("{{ listen: \":8081\", signature: {{ {}: whsec_c2VjcmV0 }} }}", scheme),
        fmt::format("    accept: [W031]\n{}", more))));
  };
  EXPECT_EQ(signed_by("standard_webhooks", ""), "");
  EXPECT_EQ(signed_by("stripe", ""), "W034 ");
  EXPECT_EQ(signed_by("github", ""), "W034 ");
  EXPECT_EQ(signed_by("stripe", "    key: json:/id\n"), "");
  EXPECT_EQ(codes_of(load_http(consumer_with("{ listen: 127.0.0.1:8081, signature: { github: s } }",
                                             "    key: header:X-GitHub-Delivery\n"))),
            "W031 ");
}

}  // namespace
}  // namespace semel::config
