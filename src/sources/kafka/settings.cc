#include "sources/kafka/settings.h"

#include <array>
#include <string>
#include <utility>

#include "clients/kafka/conf.h"

namespace semel::kafka {
namespace {

using Pair = std::pair<const char*, const char*>;

// A config may say otherwise.
constexpr std::array<Pair, 4> kUsual = {{
    // Each partition has a queue of its own, so this is the most that waits for each. When one is
    // full, librdkafka looks again a second later: it must hold what is read in a second.
    {"queued.max.messages.kbytes", "16384"},
    {"queued.min.messages", "100000"},
    {"fetch.max.bytes", "16777216"},
    {"fetch.wait.max.ms", "100"},
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

}  // namespace

Result<ConfPtr> settings_of(const core::KafkaSpec& spec) {
  auto conf = usual_conf();
  if (!conf) return conf;
  const std::array<std::pair<const char*, std::string>, 3> own = {
      {{"bootstrap.servers", spec.brokers},
       {"group.id", spec.group},
       {"auto.offset.reset", reset_of(spec.from)}}};
  auto done = set_all(conf->get(), kUsual);
  if (done) done = set_all(conf->get(), spec.properties);
  if (done) done = set_all(conf->get(), kFixed);
  if (done) done = set_all(conf->get(), own);
  if (!done) return failure(std::move(done.error()));
  return conf;
}

}  // namespace semel::kafka
