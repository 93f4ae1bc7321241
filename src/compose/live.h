// Compares the live store with the config's promise.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <semel/guarantee.h>
#include <semel/spi/live_checks.h>

#include "compose/compose.h"
#include "core/sqs_spec.h"

namespace semel::compose {

struct Live {
  std::vector<LiveSetting> settings;
  // For the consumers' statements; nothing is known of native handlers.
  struct Checked {
    LiveStatement statement;
    std::string consumer;
    std::string path;  // in the consumer: "handler.sql.statements[0]"
  };
  std::vector<Checked> statements;
};

// Only reads. A store without LiveChecks has nothing to report.
Result<Live> look_live(Store& store, const config::Config& config);

// How long the brokers of a consumer's source keep messages now.
struct LiveHorizon {
  std::string consumer;
  core::Retention retention;  // of the consumer's records
  Horizon horizon;
  // How long the offsets of a group without members are kept, and where it begins then.
  std::optional<std::chrono::minutes> offsets;
  std::string from;
  // If the broker moves messages delivered too often to another queue; and how often a message may
  // crash its process here.
  std::optional<core::SqsRedrive> redrive;
  int crashes = 0;
  std::optional<Error> error;  // nothing answered
};
// Asks each broker, within some seconds; joins no group. Skips sources that keep nothing.
std::vector<LiveHorizon> look_horizons(const config::Config& config);

// The group of a consumer that reads a stream of a Redis server.
struct LiveGroup {
  std::string consumer;
  std::string stream;
  std::string group;
  std::int64_t unread = 0;
  std::int64_t pending = 0;
  std::int64_t missed = 0;       // entries trimmed before they were read, in total
  bool logged = true;            // the server keeps a log
  bool with_record = false;      // the store acknowledges an entry in the commit of its record
  std::string refused{};         // why it may not, although it is on the same server
  std::optional<Error> error{};  // no answer, or a refusal
};
// Asks each server; reads nothing.
std::vector<LiveGroup> look_groups(const config::Config& config);

// How many messages wait at the brokers for a consumer that no process runs.
struct LiveLag {
  std::int64_t messages = 0;
  std::optional<Error> error;  // nothing answered
};
// nullopt where the consumer's source has no brokers that report it. Asks within some seconds;
// joins no group.
std::optional<LiveLag> look_lag(const config::ConsumerConfig& consumer);

// A rule of on_unique_violation that no violation can match.
struct IdleRule {
  std::string consumer;
  std::string path;  // in the consumer: "handler.sql.on_unique_violation"
  std::string constraint;
};
// Only reads.
Result<std::vector<IdleRule>> look_rules(Store& store, const config::Config& config);

// kRejected where the database will not run it: D133, its table is missing or not transactional;
// D134, it is refused; D135, a right is missing.
Result<void> refuse(const Live::Checked& checked);
// Whether it prevents a run. Other refusals can be fixed while the consumer waits.
bool stops_a_run(const Live::Checked& checked) noexcept;

// One text for each setting that carries a risk: "synchronous_commit = off: …".
std::vector<std::string> risks_of(const Live& live);
// The promise, lowered by them.
Guarantee lowered(Guarantee promise, const Live& live);

}  // namespace semel::compose
