// What the live store says, against what the config promises.
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
  // Of the consumers' statements; of native handlers nothing is known.
  struct Checked {
    LiveStatement statement;
    std::string consumer;
    std::string path;  // in the consumer: "handler.sql.statements[0]"
  };
  std::vector<Checked> statements;
};

// Looks; changes nothing. A store that says nothing of itself has nothing to tell.
Result<Live> look_live(Store& store, const config::Config& config);

// What the brokers of a consumer's source keep, as they say it now.
struct LiveHorizon {
  std::string consumer;
  core::Retention retention;  // of its records
  Horizon horizon;
  // How long the offsets of a group without members are kept, and where it begins then.
  std::optional<std::chrono::minutes> offsets;
  std::string from;
  // Where the broker gives what it has delivered too often to a queue of its own; and how often a
  // message may crash its process here.
  std::optional<core::SqsRedrive> redrive;
  int crashes = 0;
  std::optional<Error> error;  // nobody could be asked
};
// Asks each broker, within some seconds; joins nothing. Sources that keep nothing are passed over.
std::vector<LiveHorizon> look_horizons(const config::Config& config);

// The group of a consumer that reads a stream of a Redis server.
struct LiveGroup {
  std::string consumer;
  std::string stream;
  std::string group;
  std::int64_t unread = 0;
  std::int64_t pending = 0;
  std::int64_t missed = 0;       // trimmed before they were read, ever
  bool logged = true;            // the server keeps a log
  std::optional<Error> error{};  // it could not be asked, or refuses
};
// Asks each server; reads nothing.
std::vector<LiveGroup> look_groups(const config::Config& config);

// How many messages wait at the brokers for a consumer that nobody runs.
struct LiveLag {
  std::int64_t messages = 0;
  std::optional<Error> error;  // nobody could be asked
};
// None where the consumer's source has no brokers that tell. Asks within some seconds; joins
// nothing.
std::optional<LiveLag> look_lag(const config::ConsumerConfig& consumer);

// A rule of on_unique_violation under which nothing can fall.
struct IdleRule {
  std::string consumer;
  std::string path;  // in the consumer: "handler.sql.on_unique_violation"
  std::string constraint;
};
// Looks; changes nothing.
Result<std::vector<IdleRule>> look_rules(Store& store, const config::Config& config);

// kRejected where the database will not run it: D133, its table is not there or is in no
// transaction; D134, it is refused; D135, a right is missing.
Result<void> refuse(const Live::Checked& checked);
// A run does not begin on it. What else is refused can be mended while the consumer waits.
bool stops_a_run(const Live::Checked& checked) noexcept;

// Of each setting that carries one: "synchronous_commit = off: …".
std::vector<std::string> risks_of(const Live& live);
// Lowered by them.
Guarantee lowered(Guarantee promise, const Live& live);

}  // namespace semel::compose
