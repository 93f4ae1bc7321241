#include "sources/kafka/settings.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <array>
#include <string>
#include <utility>

namespace semel::kafka {
namespace {

using Pair = std::pair<const char*, const char*>;

// A config may say otherwise.
constexpr std::array<Pair, 8> kUsual = {{
    {"client.id", "semel"},
    // Each partition has a queue of its own, so this is the most that waits for each.
    {"queued.max.messages.kbytes", "4096"},
    {"queued.min.messages", "10000"},
    {"fetch.max.bytes", "16777216"},
    {"fetch.wait.max.ms", "100"},
    {"socket.keepalive.enable", "true"},
    // A broker that is back is to be found soon.
    {"reconnect.backoff.max.ms", "2000"},
    {"log.connection.close", "false"},
}};

// The source's own business.
constexpr std::array<Pair, 4> kFixed = {{
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"enable.partition.eof", "true"},
    {"isolation.level", "read_committed"},
}};

const char* reset_of(core::KafkaSpec::From from) {
  switch (from) {
    case core::KafkaSpec::From::kEarliest:
      return "earliest";
    case core::KafkaSpec::From::kLatest:
      return "latest";
    case core::KafkaSpec::From::kFail:
      return "error";
  }
  return "earliest";
}

Result<void> set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, 512> why{};
  const auto answer = rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size());
  if (answer == RD_KAFKA_CONF_OK) return {};
  // The library's own words repeat the value, which may be a secret.
  if (answer == RD_KAFKA_CONF_UNKNOWN) {
    return failure({ErrorKind::kRejected, "R308",
                    fmt::format("librdkafka does not know the property {}", name),
                    "its names are in librdkafka's CONFIGURATION.md"});
  }
  return failure({ErrorKind::kRejected, "R308",
                  core::is_kafka_secret(name)
                      ? fmt::format("librdkafka refuses the value of {}", name)
                      : fmt::format("librdkafka refuses {}: {}", name, why.data()),
                  "its values are in librdkafka's CONFIGURATION.md"});
}

}  // namespace

Result<ConfPtr> settings_of(const core::KafkaSpec& spec) {
  ConfPtr conf(rd_kafka_conf_new());
  for (const auto& [name, value] : kUsual) {
    if (auto done = set(conf.get(), name, value); !done) return failure(std::move(done.error()));
  }
  for (const auto& [name, value] : spec.properties) {
    if (auto done = set(conf.get(), name, value); !done) return failure(std::move(done.error()));
  }
  for (const auto& [name, value] : kFixed) {
    if (auto done = set(conf.get(), name, value); !done) return failure(std::move(done.error()));
  }
  const std::array<std::pair<const char*, std::string>, 3> own = {
      {{"bootstrap.servers", spec.brokers},
       {"group.id", spec.group},
       {"auto.offset.reset", reset_of(spec.from)}}};
  for (const auto& [name, value] : own) {
    if (auto done = set(conf.get(), name, value); !done) return failure(std::move(done.error()));
  }
  return conf;
}

}  // namespace semel::kafka
