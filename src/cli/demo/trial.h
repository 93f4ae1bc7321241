// Trial: runs one strategy through one storm, with real processes that are really killed, and
// counts at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/demo/contender.h"
#include "cli/demo/storm.h"

namespace semel::cli::demo {

struct TrialOptions {
  Contender contender;
  std::string redis_server;  // the program's path, for work of its own
  std::string folder;        // exists; used by this trial only
  std::uint64_t kills = 0;
  std::function<void(const std::string&)> progress;  // shows a line
  std::function<bool()> stopped;                     // polled: true ends the trial
  // The address and port of a dashboard, which one of the workers serves from the first message of
  // the queue on; empty: no dashboard. Not for work of its own.
  std::string ui;
  // Set where nobody asked for the dashboard: called once, where its port is taken when its worker
  // starts. From then on there is no dashboard.
  std::function<void()> ui_taken;
};

struct TrialResult {
  std::string guarantee;
  std::uint64_t messages = 0;
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t effects = 0;      // rows of the ledger
  std::uint64_t duplicates = 0;   // deliveries told that their effect had happened
  std::uint64_t given_back = 0;   // met their twin in progress, and were delivered again
  std::uint64_t interrupted = 0;  // by a kill, and delivered again
  std::uint64_t kills = 0;
  std::uint64_t calls = 0;   // of a service, where one is called
  std::uint64_t parked = 0;  // for a person to decide what happened to them
  std::uint64_t lost = 0;
  std::uint64_t doubled = 0;
  std::int64_t balance = 0;
  std::int64_t expected_balance = 0;
  double seconds = 0;     // from the first message of the queue to the last
  double per_second = 0;  // deliveries of the queue
};

// Throws SemelError if the trial fails: no room, a worker that ended by itself, no progress.
// `ended` is called with the result while the worker with the dashboard is still running.
TrialResult run_trial(const Storm& storm, const TrialOptions& options,
                      const std::function<void(const TrialResult&)>& ended = {});

}  // namespace semel::cli::demo
