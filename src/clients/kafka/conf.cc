#include "clients/kafka/conf.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "base/iso_time.h"
#include "base/printable.h"
#include "core/kafka_spec.h"
#include "system/utc_clock.h"

namespace semel::kafka {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> kOfEachClient = {{
    {"client.id", "semel"},
    {"socket.keepalive.enable", "true"},
    // A broker that is back must be found soon.
    {"reconnect.backoff.max.ms", "2000"},
    {"log.connection.close", "false"},
}};

void show_line(const rd_kafka_t*, int, const char* facility, const char* text) {
  const std::string line = printable_text(text);
  const std::string when = iso_time(system::utc_now());
  std::fprintf(stderr, "%s  librdkafka %s: %s\n", when.c_str(), facility, line.c_str());
}
void show_nothing(const rd_kafka_t*, int, const char*, const char*) {}

}  // namespace

Result<void> set(rd_kafka_conf_s* conf, const std::string& name, const std::string& value) {
  std::array<char, 512> why{};
  const auto answer = rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size());
  if (answer == RD_KAFKA_CONF_OK) return {};
  // librdkafka's own text repeats the value, which may be a secret.
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

Result<ConfPtr> usual_conf() {
  ConfPtr conf(rd_kafka_conf_new());
  if (auto done = set_all(conf.get(), kOfEachClient); !done)
    return failure(std::move(done.error()));
  return conf;
}

void set_log(rd_kafka_conf_s* conf, bool shown) noexcept {
  rd_kafka_conf_set_log_cb(conf, shown ? &show_line : &show_nothing);
}

}  // namespace semel::kafka
