// The RabbitMQ source that a config produces, its refusals, and which of its values are shown.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

std::string emails(const std::string& more, const std::string& key = "    key: json:/id\n") {
  return "consumers:\n  - name: emails\n    source:\n      rabbitmq:\n"
         "        url: \"${AMQP_URL:-amqp://rabbit/shop}\"\n        queue: emails\n" +
         more + key;
}

const core::RabbitmqSpec& rabbitmq_of(const Config& config) {
  return std::get<RabbitmqSource>(config.consumers.at(0).source).spec;
}

void expect_one(const std::string& yaml, const std::string& code, const std::string& help) {
  const auto loaded = load_text(yaml, "semel.yaml", with_env({}));
  ASSERT_EQ(loaded.diagnostics.size(), 1U) << all_of(loaded);
  EXPECT_EQ(loaded.diagnostics[0].code, code) << all_of(loaded);
  EXPECT_NE(loaded.diagnostics[0].help.find(help), std::string::npos) << all_of(loaded);
}

TEST(RabbitmqConfig, BecomesItsSpec) {
  const auto config =
      good(emails("        prefetch: 20\n        declare: true\n"
                  "        queue_type: classic\n        heartbeat: 10s\n"
                  "        tls: { ca: ca.pem, cert: c.pem, key: k.pem }\n"),
           with_env({{"AMQP_URL", "amqps://me:secret@a,b:1/shop"}}), "conf/semel.yaml");
  const auto& spec = rabbitmq_of(config);
  EXPECT_EQ(spec.address.place(), "a:5671,b:1");
  EXPECT_EQ(spec.address.vhost, "shop");
  EXPECT_EQ(spec.queue, "emails");
  EXPECT_EQ(spec.prefetch, 20);
  EXPECT_TRUE(spec.declare);
  EXPECT_EQ(spec.type, core::RabbitmqSpec::QueueType::kClassic);
  EXPECT_EQ(spec.heartbeat, std::chrono::seconds(10));
  EXPECT_EQ(spec.tls_ca, "conf/ca.pem");
  EXPECT_EQ(spec.tls_key, "conf/k.pem");
}

TEST(RabbitmqConfig, WhatIsNotSaidIsAsUsual) {
  const auto spec = rabbitmq_of(good(emails("")));
  EXPECT_EQ(spec.prefetch, core::RabbitmqSpec::kUsualPrefetch);
  EXPECT_EQ(spec.heartbeat, core::RabbitmqSpec::kUsualHeartbeat);
  EXPECT_FALSE(spec.declare);
  EXPECT_EQ(spec.type, core::RabbitmqSpec::QueueType::kQuorum);
}

TEST(RabbitmqConfig, WhatIsWrongIsNamedWithItsFix) {
  const std::string head = "consumers:\n  - name: a\n    key: json:/id\n    source: { rabbitmq: ";
  expect_one(head + "{ url: \"http://x\", queue: q } }\n", "E014", "amqp://");
  expect_one(head + "{ url: \"amqp://x\", queue: amq.q, declare: true } }\n", "E014", "queue:");
  expect_one(head + "{ url: \"amqp://x\", queue: q, queue_type: classic } }\n", "E038", "declare");
  expect_one(head + "{ url: \"amqp://x\", queue: q, tls: { ca: ca.pem } } }\n", "E038", "amqps");
  expect_one(head + "{ url: \"amqps://x\", queue: q, tls: { cert: c.pem } } }\n", "E038", "key");
}

TEST(RabbitmqConfig, ADeliveryTagIsNoKey) {
  expect_one(emails("", "    key: position\n"), "E029", "json:/your_id");
  expect_one(emails("", "    key: { from: [json:/id, position] }\n"), "E029", "broker_key");
}

TEST(RabbitmqConfig, AMessageIdIsAKeyAndWithoutAnyItIsTaken) {
  good(emails("", "    key: broker_key\n"));
  good(emails("", "    key: header:amqp-correlation-id\n"));
  expect_one(emails("", ""), "W034", "message-id");
}

TEST(RabbitmqConfig, ATimeoutPastTheBrokersPatienceIsWarnedOf) {
  expect_one(emails("", "    key: json:/id\n    timeout: 45m\n    handler: { native: x }\n"),
             "W044", "consumer_timeout");
  good(emails("",
              "    key: json:/id\n    timeout: 45m\n    accept: [W044]\n"
              "    handler: { native: x }\n"));
}

TEST(RabbitmqConfig, TwoConsumersDoNotShareAQueue) {
  for (const char* url : {"amqp://rabbit/shop", "amqp://other:word@rabbit:5672/shop"}) {
    const std::string other = fmt::format(
        "  - name: audit\n    source: {{ rabbitmq: {{ url: \"{}\", queue: emails }} }}\n    key: "
        "json:/id\n",
        url);
    const auto loaded = load_text(emails("") + other, "semel.yaml", with_env({}));
    EXPECT_NE(all_of(loaded).find("E028"), std::string::npos) << url << all_of(loaded);
  }
}

TEST(RabbitmqConfig, PasswordsAreNeverShown) {
  const std::string yaml =
      "consumers:\n  - name: a\n    key: json:/id\n    source: { rabbitmq: { url: "
      "\"amqp://me:hunter2@h\", queue: q } }\n";
  const auto loaded = load_text(yaml, "/not/there/semel.yaml", with_env({}));
  EXPECT_EQ(all_of(loaded).find("hunter2"), std::string::npos) << all_of(loaded);
  EXPECT_NE(all_of(loaded).find("W031"), std::string::npos);
  for (const auto& each : loaded.effective) {
    EXPECT_EQ(each.value.find("hunter2"), std::string::npos) << each.path;
  }
  EXPECT_EQ(effective(loaded, "consumers[0].source.rabbitmq.url").substr(0, 10), "amqp://me:");
}

}  // namespace
}  // namespace semel::config
