#include "cli/status.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/remote.h"
#include "cli/session.h"
#include "cli/source_view.h"
#include "compose/compose.h"
#include "compose/live.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

using operate::ConsumerStatus;

constexpr std::chrono::milliseconds kAskWithin{500};

// Asks this user's runs on this machine. A run that does not answer in time is left out.
std::vector<tap::RunFigures> ask_runs(const config::Config& config, const StoreStats& stats) {
  if (stats.running_pids.empty()) return {};
  const auto path = watched_path(config);
  if (!path || path->empty()) return {};
  return tap::ask_figures(*path, kAskWithin).value_or(std::vector<tap::RunFigures>());
}

Result<ConsumerStatus> status_of(const config::Config& config,
                                 const config::ConsumerConfig& consumer,
                                 const StoreStats::Consumer* counts,
                                 const std::vector<tap::RunFigures>& runs, Gates& gates) {
  ConsumerStatus row;
  row.name = consumer.name;
  row.source = operate::source_name(consumer.source);
  row.strategy = core::to_string(consumer.strategy);
  row.guarantee = to_string(compose::guarantee_of(config, consumer).name);
  row.sources = sources_of(runs, consumer.name);
  row.windows = windows_of(runs, consumer.name);
  row.health = health_of(runs, consumer.name);
  if (counts != nullptr) {
    row.counts = *counts;
    auto gate = gates.state(counts->number);
    if (!gate) return failure(std::move(gate.error()));
    row.gate = *std::move(gate);
  }
  if (row.counts.running_pids.empty()) {
    if (auto lag = compose::look_lag(consumer)) row.lag = {lag->messages, std::move(lag->error)};
  }
  operate::conclude(row, counts != nullptr, system::utc_now());
  return row;
}

Result<operate::Status> status_of(const Session& session, const StoreStats& stats) {
  operate::Status made = operate::status_of_store(stats, session.where);
  const auto runs = ask_runs(session.config, stats);
  for (const auto& consumer : session.config.consumers) {
    const auto found =
        std::ranges::find(stats.consumers, consumer.name, &StoreStats::Consumer::name);
    const auto* counts = found == stats.consumers.end() ? nullptr : &*found;
    auto row = status_of(session.config, consumer, counts, runs, *session.facets.gates);
    if (!row) return failure(std::move(row.error()));
    made.consumers.push_back(*std::move(row));
  }
  for (const auto& counts : stats.consumers) {
    if (session.config.find(counts.name) != nullptr) continue;
    made.consumers.push_back(operate::removed_consumer(counts, system::utc_now()));
  }
  return made;
}

int status(Console& console) {
  if (console.settings().url) return remote_status(console);
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto stats = session->facets.records->stats();
  if (!stats) return console.fail(stats.error());
  const auto all = status_of(*session, *stats);
  return all ? show_status(console, *all) : console.fail(all.error());
}

}  // namespace

void add_status(Program& program) {
  program
      .command({.name = "status",
                .description = "The consumers and their records on one screen",
                .group = "Operate",
                .flags = kConfigFlag | kConfigArgument | kUrlFlag | kOutput | kTime | kQuiet},
               [](Console& console) { return status(console); })
      .footer(
          "Exit code 1: a consumer is down, which is to say that messages wait for it and no "
          "process runs it, or failing: no process that runs it can go on. 69: nobody runs it and "
          "its brokers do not answer. 78: they refuse, or its queue is not there.");
}

}  // namespace semel::cli
