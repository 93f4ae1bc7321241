// The HTTP handler that a config produces, and which of its values are shown.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "config/config.h"

namespace semel::config {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr std::string_view kEmails = R"(
consumers:
  - name: emails
    source: { file: in.jsonl }
    key: json:/id
    timeout: 7s
    limits: { result: 4KiB }
    handler:
      http:
        url: https://example.com/hooks
        method: PATCH
        timeout: 20s
        headers: { X-Team: blue, Authorization: Bearer hunter2 }
        honours_key: true
        idempotency_key_style: bare
        signing: whsec_c2VjcmV0,whsec_b3RoZXI=
        ca_file: tls/ca.pem
)";

TEST(HttpConfig, BecomesItsSpec) {
  const auto loaded = load_text(kEmails, "/etc/semel/semel.yaml");
  ASSERT_TRUE(loaded.config) << format(loaded.diagnostics.front(), false);
  const auto& consumer = loaded.config->consumers.at(0);
  const auto& spec = std::get<HttpHandler>(consumer.handler).spec;
  EXPECT_EQ(spec.consumer, "emails");
  EXPECT_EQ(spec.source, "file");
  EXPECT_EQ(spec.url, "https://example.com/hooks");
  EXPECT_EQ(spec.method, "PATCH");
  EXPECT_EQ(spec.timeout, seconds(20)) << "its own before the consumer's";
  EXPECT_EQ(consumer.timeout, seconds(20));
  ASSERT_EQ(spec.headers.size(), 2U);
  EXPECT_EQ(spec.headers[1].name, "Authorization");
  EXPECT_EQ(spec.headers[1].value, "Bearer hunter2");
  EXPECT_TRUE(spec.honours_key);
  EXPECT_EQ(spec.key_style, core::HttpSpec::KeyStyle::kBare);
  EXPECT_EQ(spec.signing_secrets, (std::vector<std::string>{"whsec_c2VjcmV0", "whsec_b3RoZXI="}));
  EXPECT_EQ(spec.ca_file, "/etc/semel/tls/ca.pem");
  EXPECT_EQ(spec.response_limit, 4U << 10);
  EXPECT_EQ(consumer.strategy, core::StrategyKind::kFence);
}

TEST(HttpConfig, WhatIsNotSaid) {
  const auto loaded = load_text(R"(
consumers:
  - name: emails
    source: { queue: {} }
    key: json:/id
    timeout: 7s
    handler: { http: "http://127.0.0.1:8080/send" }
)",
                                "semel.yaml");
  ASSERT_TRUE(loaded.config);
  EXPECT_TRUE(loaded.diagnostics.empty());
  const auto& consumer = loaded.config->consumers.at(0);
  const auto& spec = std::get<HttpHandler>(consumer.handler).spec;
  EXPECT_EQ(spec.source, "queue");
  EXPECT_EQ(spec.method, "POST");
  EXPECT_EQ(spec.timeout, seconds(7));
  EXPECT_FALSE(spec.honours_key);
  EXPECT_EQ(spec.key_style, core::HttpSpec::KeyStyle::kQuoted);
  EXPECT_TRUE(spec.headers.empty());
  EXPECT_TRUE(spec.signing_secrets.empty());
  EXPECT_TRUE(spec.ca_file.empty());
}

TEST(HttpConfig, SecretsAreShownNowhere) {
  const auto loaded = load_text(kEmails, "semel.yaml");
  ASSERT_TRUE(loaded.config);
  int hidden = 0;
  for (const auto& each : loaded.effective) {
    EXPECT_EQ(each.value.find("hunter2"), std::string::npos) << each.path;
    EXPECT_EQ(each.value.find("whsec_"), std::string::npos) << each.path;
    hidden += each.value == "***" ? 1 : 0;
  }
  EXPECT_EQ(hidden, 4);
  for (const auto& each : loaded.diagnostics) {
    const auto text = format(each, false);
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
    EXPECT_EQ(text.find("c2VjcmV0"), std::string::npos) << text;
  }
}

TEST(HttpConfig, ALiteralSecretIsFineWhereNobodyElseMayRead) {
  std::string folder = (fs::temp_directory_path() / "semel-http-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto file = folder + "/semel.yaml";
  std::ofstream(file) << kEmails;
  const auto warnings = [&] {
    const auto loaded = load_file(file);
    return std::count_if(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                         [](const Diagnostic& each) { return each.code == "W031"; });
  };
  ::chmod(file.c_str(), 0640);
  EXPECT_EQ(warnings(), 3);
  ::chmod(file.c_str(), 0600);
  EXPECT_EQ(warnings(), 0);
  fs::remove_all(folder);
}

TEST(HttpConfig, WhatComesFromElsewhereIsNoLiteral) {
  LoadOptions options;
  options.env = [](const std::string&) { return "Bearer hunter2"; };
  const auto loaded = load_text(R"(
consumers:
  - name: emails
    source: { queue: {} }
    key: json:/id
    handler: { http: { url: "http://a/", headers: { Authorization: "${TOKEN}" } } }
)",
                                "semel.yaml", options);
  ASSERT_TRUE(loaded.config);
  EXPECT_TRUE(loaded.diagnostics.empty());
}

}  // namespace
}  // namespace semel::config
