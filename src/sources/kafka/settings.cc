#include "sources/kafka/settings.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "clients/kafka/conf.h"

namespace semel::kafka {
namespace {

using Pair = std::pair<const char*, const char*>;

// A config may override these.
constexpr std::array<Pair, 4> kUsual = {{
    // Each partition has a queue of its own, and this limits each queue. A full queue is fetched
    // again once the source has read a part of it (Client::show_room).
    {"queued.max.messages.kbytes", "16384"},
    {"queued.min.messages", "100000"},
    {"fetch.max.bytes", "16777216"},
    {"fetch.wait.max.ms", "100"},
}};

// Newer versions of librdkafka wait this long before they check a full queue again.
constexpr Pair kQueueBackoff = {"fetch.queue.backoff.ms", "10"};

// The source needs these values: a config cannot override them.
constexpr std::array<Pair, 4> kFixed = {{
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"enable.partition.eof", "true"},
    {"isolation.level", "read_committed"},
}};

bool is_known(const rd_kafka_conf_t* conf, const char* name) {
  std::size_t size = 0;
  return rd_kafka_conf_get(conf, name, nullptr, &size) == RD_KAFKA_CONF_OK;
}

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

}  // namespace

Result<ConfPtr> settings_of(const core::KafkaSpec& spec) {
  auto conf = usual_conf();
  if (!conf) return conf;
  const std::array<std::pair<const char*, std::string>, 3> own = {
      {{"bootstrap.servers", spec.brokers},
       {"group.id", spec.group},
       {"auto.offset.reset", reset_of(spec.from)}}};
  auto done = set_all(conf->get(), kUsual);
  if (done && is_known(conf->get(), kQueueBackoff.first)) {
    done = set(conf->get(), kQueueBackoff.first, kQueueBackoff.second);
  }
  if (done) done = set_all(conf->get(), spec.properties);
  if (done) done = set_all(conf->get(), kFixed);
  if (done) done = set_all(conf->get(), own);
  if (!done) return failure(std::move(done.error()));
  return conf;
}

}  // namespace semel::kafka
