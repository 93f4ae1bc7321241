// The Kafka source that a config produces, its refusals, and which of its values are shown.
#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

std::string orders(const std::string& more, const std::string& key = "    key: json:/id\n") {
  return "consumers:\n  - name: orders\n    source:\n      kafka:\n        brokers: a:1,b:2\n"
         "        group: billing\n" +
         more + key;
}

TEST(KafkaConfig, BecomesItsSpec) {
  const auto config = good(orders(R"(
        topics: [orders, returns]
        from: latest
        properties:
          security.protocol: sasl_ssl
          sasl.password: "${PASSWORD}"
          session.timeout.ms: 6000
)"),
                           with_env({{"PASSWORD", "hunter2"}}));
  const auto& spec = std::get<KafkaSource>(config.consumers.at(0).source).spec;
  EXPECT_EQ(spec.brokers, "a:1,b:2");
  EXPECT_EQ(spec.group, "billing");
  EXPECT_EQ(spec.topics, (std::vector<std::string>{"orders", "returns"}));
  EXPECT_EQ(spec.from, core::KafkaSpec::From::kLatest);
  EXPECT_EQ(spec.properties.at("security.protocol"), "sasl_ssl");
  EXPECT_EQ(spec.properties.at("sasl.password"), "hunter2");
  EXPECT_EQ(spec.properties.at("session.timeout.ms"), "6000");
}

TEST(KafkaConfig, BeginsAtTheFirstMessageWhereNothingIsSaid) {
  const auto config = good(orders("        topics: orders\n"));
  const auto& spec = std::get<KafkaSource>(config.consumers.at(0).source).spec;
  EXPECT_EQ(spec.from, core::KafkaSpec::From::kEarliest);
  EXPECT_EQ(spec.topics, std::vector<std::string>{"orders"});
  EXPECT_EQ(effective_ttl(config.consumers.at(0)), std::chrono::hours(28 * 24));
}

TEST(KafkaConfig, APropertyThatBreaksThePromiseIsRefusedWithItsReason) {
  const auto loaded = load_text(orders("        topics: orders\n        properties: "
                                       "{ enable.auto.commit: true, auto.offset.reset: latest }\n"),
                                "semel.yaml");
  ASSERT_EQ(loaded.diagnostics.size(), 2U);
  EXPECT_EQ(loaded.diagnostics[0].code, "E027");
  EXPECT_NE(all_of(loaded).find("enable.auto.commit"), std::string::npos);
  EXPECT_NE(all_of(loaded).find("from: earliest"), std::string::npos);
}

TEST(KafkaConfig, ATtlBelowTheUsualRetentionIsWarnedAbout) {
  const auto with = [](const std::string& more) {
    return load_text(orders("        topics: orders\n") + more, "semel.yaml");
  };
  const auto loaded = with("    dedup: { ttl: 13d }\n");
  ASSERT_TRUE(loaded.config);
  EXPECT_TRUE(loaded.diagnostics.empty()) << "a run asks the broker: " << all_of(loaded);
  ASSERT_EQ(loaded.notes.size(), 1U);
  EXPECT_EQ(loaded.notes[0].code, "D102");
  EXPECT_EQ(loaded.notes[0].severity, Diagnostic::Severity::kWarning);
  EXPECT_EQ(loaded.notes[0].help, "dedup.ttl: 14d, or auto; or knowingly: accept: [D102]");
  for (const char* more : {"    dedup: { ttl: 14d }\n", "    dedup: { ttl: keep }\n", "",
                           "    dedup: { ttl: 1d }\n    accept: [D102]\n"}) {
    EXPECT_TRUE(with(more).diagnostics.empty()) << more << all_of(with(more));
    EXPECT_TRUE(with(more).notes.empty()) << more;
  }
  EXPECT_FALSE(with("    dedup: { ttl: 1h }\n").config) << "an error: shorter than the retries";
}

TEST(KafkaConfig, APatternIsNoTopic) {
  const auto loaded = load_text(orders("        topics: [\"^orders.*\"]\n"), "semel.yaml");
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].code, "E014");
}

TEST(KafkaConfig, ARecordsKeyIsNotTakenForAnIdUnasked) {
  const auto loaded = load_text(orders("        topics: orders\n", ""), "semel.yaml");
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].code, "E031");
  EXPECT_NE(loaded.diagnostics[0].help.find("broker_key"), std::string::npos);
  good(orders("        topics: orders\n", "    key: broker_key\n"));
}

TEST(KafkaConfig, TwoConsumersDoNotShareAGroup) {
  const std::string one = orders("        topics: [orders, returns]\n");
  const std::string other =
      "  - name: audit\n    source: { kafka: { brokers: \"a:1,b:2\", group: billing, topics: "
      "returns "
      "} }\n    key: json:/id\n";
  const auto loaded = load_text(one + other, "semel.yaml");
  ASSERT_EQ(loaded.diagnostics.size(), 1U) << all_of(loaded);
  EXPECT_EQ(loaded.diagnostics[0].code, "E028");
  EXPECT_NE(loaded.diagnostics[0].message.find("returns"), std::string::npos);
}

TEST(KafkaConfig, SecretsAreNeverShown) {
  const auto loaded = load_text(orders("        topics: orders\n        properties: "
                                       "{ sasl.username: me, sasl.password: hunter2 }\n"),
                                "/not/there/semel.yaml");
  EXPECT_EQ(all_of(loaded).find("hunter2"), std::string::npos);
  EXPECT_NE(all_of(loaded).find("W031"), std::string::npos);
  for (const auto& each : loaded.effective)
    EXPECT_EQ(each.value.find("hunter2"), std::string::npos);
  EXPECT_EQ(effective(loaded, "consumers[0].source.kafka.properties.sasl.username").substr(0, 2),
            "me");
}

}  // namespace
}  // namespace semel::config
