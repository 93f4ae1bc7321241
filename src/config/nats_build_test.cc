// The NATS source that a config produces, its refusals, and which of its values are shown.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

std::string clicks(const std::string& more, const std::string& key = "    key: json:/id\n") {
  return "consumers:\n  - name: clicks\n    source:\n      nats:\n"
         "        url: \"${NATS_URL:-nats://nats}\"\n        stream: clicks\n"
         "        durable: semel\n" +
         more + key;
}

const core::NatsSpec& nats_of(const Config& config) {
  return std::get<NatsSource>(config.consumers.at(0).source).spec;
}

void expect_one_of_nats(const std::string& yaml, const std::string& code, const std::string& help) {
  const auto loaded = load_text(yaml, "semel.yaml", with_env({}));
  ASSERT_EQ(loaded.diagnostics.size(), 1U) << all_of(loaded);
  EXPECT_EQ(loaded.diagnostics[0].code, code) << all_of(loaded);
  EXPECT_NE(loaded.diagnostics[0].help.find(help), std::string::npos) << all_of(loaded);
}

TEST(NatsConfig, BecomesItsSpec) {
  const auto config =
      good(clicks("        prefetch: 20\n        declare: true\n        subject: clicks.eu.>\n"
                  "        ack_wait: 10s\n        credentials: app.creds\n"
                  "        tls: { ca: ca.pem, cert: c.pem, key: k.pem }\n"),
           with_env({{"NATS_URL", "tls://me:secret@a,b:1"}}), "conf/semel.yaml");
  const auto& spec = nats_of(config);
  EXPECT_EQ(spec.address.place(), "a:4222,b:1");
  EXPECT_EQ(spec.stream, "clicks");
  EXPECT_EQ(spec.durable, "semel");
  EXPECT_EQ(spec.subject, "clicks.eu.>");
  EXPECT_EQ(spec.prefetch, 20);
  EXPECT_TRUE(spec.declare);
  EXPECT_EQ(spec.ack_wait, std::chrono::seconds(10));
  EXPECT_EQ(spec.credentials, "conf/app.creds");
  EXPECT_EQ(spec.tls_ca, "conf/ca.pem");
  EXPECT_EQ(spec.tls_key, "conf/k.pem");
}

TEST(NatsConfig, WhatIsNotSaidIsAsUsual) {
  const auto spec = nats_of(good(clicks("")));
  EXPECT_EQ(spec.prefetch, core::NatsSpec::kUsualPrefetch);
  EXPECT_EQ(spec.ack_wait, core::NatsSpec::kUsualAckWait);
  EXPECT_FALSE(spec.declare);
  EXPECT_TRUE(spec.subject.empty());
}

TEST(NatsConfig, WhatIsWrongIsNamedWithItsFix) {
  const auto with = [](const std::string& nats) {
    return "consumers:\n  - name: a\n    key: json:/id\n    source: { nats: { " + nats + " } }\n";
  };
  const std::string url = "url: \"nats://x\", ";
  expect_one_of_nats(with("url: \"http://x\", stream: s, durable: d"), "E014", "nats://");
  expect_one_of_nats(with(url + "stream: a.b, durable: d"), "E014", "stream:");
  expect_one_of_nats(with(url + "stream: s, durable: \"a b\""), "E014", "durable:");
  expect_one_of_nats(with(url + "stream: s, durable: d, declare: true, subject: a..b"), "E014",
                     "subject:");
  expect_one_of_nats(with(url + "stream: s, durable: d, subject: a"), "E038", "declare: true");
  expect_one_of_nats(with(url + "stream: s, durable: d, ack_wait: 5s"), "E038", "declare: true");
  expect_one_of_nats(with(url + "stream: s, durable: d, tls: { ca: ca.pem }"), "E038", "tls://");
  expect_one_of_nats(
      with("url: \"nats://u:p@x\", stream: s, durable: d, token: t") + "    accept: [W031]\n",
      "E038", "one of both");
  expect_one_of_nats(with("url: \"tls://x\", stream: s, durable: d, tls: { cert: c.pem }"), "E038",
                     "key");
}

TEST(NatsConfig, AMessageIdIsAKeyAndWithoutAnyItIsTaken) {
  good(clicks("", "    key: broker_key\n"));
  expect_one_of_nats(clicks("", ""), "W034", "Nats-Msg-Id");
}

TEST(NatsConfig, APositionNamesACopy) {
  expect_one_of_nats(clicks("", "    key: position\n"), "W033", "json:/your_id");
}

TEST(NatsConfig, TwoConsumersDoNotShareADurable) {
  const auto second = [](const std::string& durable) {
    return fmt::format(
        "  - name: audit\n    source: {{ nats: {{ url: \"nats://me:word@nats:4222\", stream: "
        "clicks, durable: {} }} }}\n    key: json:/id\n",
        durable);
  };
  const auto loaded = load_text(clicks("") + second("semel"), "semel.yaml", with_env({}));
  EXPECT_NE(all_of(loaded).find("E028"), std::string::npos) << all_of(loaded);
  const auto other = load_text(clicks("") + second("audit"), "semel.yaml", with_env({}));
  EXPECT_EQ(all_of(other).find("E028"), std::string::npos) << all_of(other);
}

TEST(NatsConfig, PasswordsAreNeverShown) {
  const auto at = [](const std::string& url) {
    return "consumers:\n  - name: a\n    key: json:/id\n    source: { nats: { url: \"" + url +
           "\", stream: s, durable: d } }\n";
  };
  const auto loaded = load_text(at("nats://me:hunter2@h"), "/not/there/semel.yaml", with_env({}));
  EXPECT_EQ(all_of(loaded).find("hunter2"), std::string::npos) << all_of(loaded);
  EXPECT_NE(all_of(loaded).find("W031"), std::string::npos);
  for (const auto& each : loaded.effective) {
    EXPECT_EQ(each.value.find("hunter2"), std::string::npos) << each.path;
  }
  const auto token =
      load_text(at("nats://h\", token: \"hunter2"), "/not/there/semel.yaml", with_env({}));
  EXPECT_NE(all_of(token).find("W031"), std::string::npos) << all_of(token);
  EXPECT_EQ(all_of(token).find("hunter2"), std::string::npos) << all_of(token);
  EXPECT_EQ(effective(token, "consumers[0].source.nats.token").substr(0, 3), "***");
}

}  // namespace
}  // namespace semel::config
