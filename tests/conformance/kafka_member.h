// Members of a group on the shared Kafka, for the tests of its source.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sources/kafka/make_kafka_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/kafka_server.h"
#include "tests/support/waiting.h"

namespace semel::conformance {

using test::KafkaServer;

inline core::KafkaSpec spec_of(const std::string& topic) {
  core::KafkaSpec spec;
  spec.brokers = KafkaServer::shared().brokers();
  spec.group = topic + "-group";
  spec.topics = {topic};
  // A member that dies is missed after a session.
  spec.properties = {{"session.timeout.ms", "3000"}, {"heartbeat.interval.ms", "300"}};
  return spec;
}

inline std::unique_ptr<Source> opened_kafka(const core::KafkaSpec& spec) {
  auto source = kafka::make_kafka_source(spec);
  EXPECT_TRUE(source.has_value()) << (source ? "" : source.error().message);
  return source ? *std::move(source) : nullptr;
}

class Member : public Receiver {
 public:
  explicit Member(const core::KafkaSpec& spec) : Receiver(opened_kafka(spec), 60s) {}
};

inline std::optional<std::int64_t> figure_of(Source& source, std::string_view name,
                                             std::string_view partition = {}) {
  for (const SourceFigure& figure : source.figures()) {
    if (figure.name == name && figure.partition == partition) return figure.value;
  }
  return std::nullopt;
}

using From = core::KafkaSpec::From;

inline core::KafkaSpec spec_from(const std::string& topic, From from) {
  auto spec = spec_of(topic);
  spec.from = from;
  return spec;
}

// Collects the member's notices and arrivals.
struct Watched {
  std::vector<std::string> notices;
  std::vector<Arrival> arrivals;
  bool at_end = false;
  std::optional<Error> error;

  bool told(std::string_view part) const {
    return std::ranges::any_of(
        notices, [&](const std::string& one) { return one.find(part) != std::string::npos; });
  }
  void look(Source& source) {
    auto received = source.receive({});
    if (!received) {
      error = std::move(received.error());
      return;
    }
    at_end = received->at_end;
    std::ranges::move(received->notices, std::back_inserter(notices));
    std::ranges::move(received->arrivals, std::back_inserter(arrivals));
  }
};

// Receives until the source is at its end.
inline Watched read_to_end(Source& source) {
  Watched watched;
  EXPECT_TRUE(test::comes_true([&] {
    watched.look(source);
    return watched.at_end || watched.error;
  }));
  EXPECT_FALSE(watched.error) << watched.error->message;
  return watched;
}

inline std::string topic_with(std::size_t messages, int partitions) {
  const std::string topic = KafkaServer::shared().new_topic(partitions);
  std::vector<KafkaServer::Record> records;
  for (std::size_t i = 0; i < messages; ++i) {
    records.push_back(
        {.value = fmt::format("{{\"n\":{}}}", i), .partition = static_cast<int>(i) % partitions});
  }
  KafkaServer::shared().produce(topic, records);
  return topic;
}

}  // namespace semel::conformance
