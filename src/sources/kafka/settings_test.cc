#include "sources/kafka/settings.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <array>

#include "sources/kafka/make_kafka_source.h"

namespace semel::kafka {
namespace {

std::string value_of(const ConfPtr& conf, const char* name) {
  std::array<char, 512> value{};
  std::size_t size = value.size();
  return rd_kafka_conf_get(conf.get(), name, value.data(), &size) == RD_KAFKA_CONF_OK ? value.data()
                                                                                      : "?";
}

TEST(KafkaSettings, PropertiesPassThroughOverTheUsualOnes) {
  core::KafkaSpec spec;
  spec.brokers = "a:1,b:2";
  spec.group = "billing";
  spec.properties = {{"session.timeout.ms", "6000"},
                     {"partition.assignment.strategy", "cooperative-sticky"},
                     {"client.id", "mine"}};
  const auto conf = settings_of(spec);
  ASSERT_TRUE(conf.has_value());
  EXPECT_EQ(value_of(*conf, "session.timeout.ms"), "6000");
  EXPECT_EQ(value_of(*conf, "partition.assignment.strategy"), "cooperative-sticky");
  EXPECT_EQ(value_of(*conf, "client.id"), "mine");
  EXPECT_EQ(value_of(*conf, "bootstrap.servers"), "a:1,b:2");
  EXPECT_EQ(value_of(*conf, "group.id"), "billing");
}

TEST(KafkaSettings, AVersionThatWaitsBeforeItLooksAtAFullQueueWaitsShortly) {
  const auto conf = settings_of(core::KafkaSpec());
  ASSERT_TRUE(conf.has_value());
  constexpr int kFirstThatWaits = 0x020200ff;
  EXPECT_EQ(value_of(*conf, "fetch.queue.backoff.ms"),
            rd_kafka_version() >= kFirstThatWaits ? "10" : "?");
}

// In a config core::kafka_property_flaw refuses these properties; a spec made in C++ bypasses it.
TEST(KafkaSettings, WhatBreaksThePromiseIsSetWhateverIsAsked) {
  core::KafkaSpec spec;
  spec.properties = {{"enable.auto.commit", "true"}, {"enable.auto.offset.store", "true"}};
  const auto conf = settings_of(spec);
  ASSERT_TRUE(conf.has_value());
  EXPECT_EQ(value_of(*conf, "enable.auto.commit"), "false");
  EXPECT_EQ(value_of(*conf, "enable.auto.offset.store"), "false");
}

TEST(KafkaSettings, WhatLibrdkafkaDoesNotTakeIsNamed) {
  core::KafkaSpec spec;
  spec.properties = {{"sesion.timeout.ms", "6000"}};
  auto refused = check_properties(spec);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R308");
  EXPECT_EQ(refused.error().kind, ErrorKind::kRejected);
  EXPECT_NE(refused.error().message.find("sesion.timeout.ms"), std::string::npos);
  spec.properties = {{"session.timeout.ms", "soon"}};
  refused = check_properties(spec);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("session.timeout.ms"), std::string::npos);
}

}  // namespace
}  // namespace semel::kafka
