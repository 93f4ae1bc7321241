#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/source_view.h"
#include "cli/text.h"
#include "cli/views.h"
#include "compose/compose.h"

namespace semel::cli {

namespace {

constexpr std::chrono::milliseconds kAskWithin{500};

// One consumer as the screen shows it.
struct ConsumerStatus {
  std::string name;
  std::string source;
  std::string strategy;
  std::string guarantee;
  std::string state;
  StoreStats::Consumer counts;
  std::optional<ShutGate> gate;
  std::vector<SourceView> sources;  // of the processes that run it here
  std::vector<SourceView> windows;  // likewise
};

std::string source_name(const config::SourceConfig& source) {
  if (const auto* file = std::get_if<config::FileSource>(&source)) return "file " + file->path;
  return std::string(config::name_of(source));
}

// A retry is a record and a held message.
std::size_t waiting(const StoreStats::Consumer& counts) {
  return counts.consuming + std::max(counts.retrying, counts.held);
}

// Down: something waits for it and no process runs on the store.
std::string state_of(const StoreStats::Consumer* counts, bool running) {
  if (counts == nullptr) return running ? "running" : "new";
  if (running) return "running";
  return waiting(*counts) > 0 ? "down" : "idle";
}

// Of the runs that can be asked: this user's, on this machine. Nobody else is waited for.
std::vector<tap::RunFigures> ask_runs(const config::Config& config, const StoreStats& stats) {
  if (stats.running_pids.empty()) return {};
  const auto path = watched_path(config);
  if (!path || path->empty()) return {};
  return tap::ask_figures(*path, kAskWithin).value_or(std::vector<tap::RunFigures>());
}

Result<std::vector<ConsumerStatus>> statuses_of(const config::Config& config,
                                                const StoreStats& stats, Gates& gates) {
  const auto runs = ask_runs(config, stats);
  const bool running = !stats.running_pids.empty();
  std::vector<ConsumerStatus> rows;
  for (const auto& consumer : config.consumers) {
    const auto found = std::find_if(stats.consumers.begin(), stats.consumers.end(),
                                    [&](const auto& c) { return c.name == consumer.name; });
    const auto* counts = found == stats.consumers.end() ? nullptr : &*found;
    ConsumerStatus row;
    row.name = consumer.name;
    row.source = source_name(consumer.source);
    row.strategy = core::to_string(consumer.strategy);
    row.guarantee = to_string(compose::guarantee_of(config, consumer).name);
    row.state = state_of(counts, running);
    row.sources = sources_of(runs, consumer.name);
    row.windows = windows_of(runs, consumer.name);
    if (counts != nullptr) {
      row.counts = *counts;
      auto gate = gates.state(counts->number);
      if (!gate) return failure(std::move(gate.error()));
      row.gate = *std::move(gate);
      if (row.gate) row.state = gate_word(row.gate);
    }
    rows.push_back(std::move(row));
  }
  for (const auto& counts : stats.consumers) {
    if (config.find(counts.name) != nullptr) continue;
    rows.push_back({counts.name, "-", "-", "-", "not in the config", counts, std::nullopt, {}, {}});
  }
  return rows;
}

std::size_t completed(const StoreStats& stats) {
  std::size_t sum = 0;
  for (const auto& generation : stats.generations) sum += generation.records;
  return sum;
}

void show_status_text(Console& console, const Session& session, const StoreStats& stats,
                      const std::vector<ConsumerStatus>& rows) {
  Table table({"CONSUMER", "STATE", "SOURCE", "STRATEGY", "GUARANTEE", "CONSUMING", "RETRYING",
               "PARKED", "HELD", "DEAD LETTERS"});
  constexpr std::size_t kFirstFigure = 5;
  constexpr std::size_t kColumns = 10;
  for (std::size_t i = kFirstFigure; i < kColumns; ++i) table.align_right(i);
  for (const auto& row : rows) {
    table.row({row.name, row.state, printable(row.source, 40), row.strategy, row.guarantee,
               grouped(row.counts.consuming), grouped(row.counts.retrying),
               grouped(row.counts.parked), grouped(row.counts.held),
               grouped(row.counts.dead_letters)});
  }
  console.out(fmt::format("{}: {} completed, {:.1f} MB, schema {}, epoch {}\n", session.where,
                          grouped(completed(stats)), static_cast<double>(stats.bytes) / 1e6,
                          stats.schema_version, stats.epoch));
  console.out(stats.running_pids.empty()
                  ? std::string("no process runs on it\n\n")
                  : fmt::format("running: pid {}\n\n", fmt::join(stats.running_pids, ", ")));
  console.out(table.text());
  for (const auto& row : rows) {
    for (const auto* views : {&row.sources, &row.windows}) {
      for (const auto& view : *views) {
        console.out(fmt::format("{}: {}\n", row.name, source_text(view)));
      }
    }
  }
  for (const auto& row : rows) {
    if (!row.gate) continue;
    const std::string until =
        row.gate->until ? " until " + console.time(*row.gate->until) : std::string();
    console.out(fmt::format("{} is {} since {}{}: {}\n", row.name, gate_word(row.gate),
                            console.time(row.gate->since), until, printable(row.gate->why, 200)));
  }
}

void show_status_json(Console& console, const Session& session, const StoreStats& stats,
                      const std::vector<ConsumerStatus>& rows) {
  json::Writer writer = document("status");
  writer.name("store").begin_object().member("where", session.where);
  writer.member("schema_version", stats.schema_version).member("epoch", stats.epoch);
  writer.member("bytes", stats.bytes).member("completed", completed(stats)).end_object();
  writer.name("running_pids").begin_array();
  for (const auto pid : stats.running_pids) writer.value(pid);
  writer.end_array();
  writer.name("consumers").begin_array();
  for (const auto& row : rows) {
    writer.begin_object().member("name", row.name).member("state", row.state);
    if (row.source != "-") {
      writer.member("source", row.source).member("strategy", row.strategy);
      writer.member("guarantee", row.guarantee);
    }
    writer.member("consuming", row.counts.consuming).member("retrying", row.counts.retrying);
    writer.member("parked", row.counts.parked).member("dead", row.counts.dead);
    writer.member("held", row.counts.held).member("dead_letters", row.counts.dead_letters);
    writer.member("gate", gate_word(row.gate));
    if (row.gate) add_gate(writer, console, *row.gate);
    writer.name("sources");
    add_sources(writer, row.sources);
    writer.name("windows");
    add_sources(writer, row.windows);
    writer.end_object();
  }
  writer.end_array();
  console.out(writer.end_object());
}

int status(Console& console) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto stats = session->facets.records->stats();
  if (!stats) return console.fail(stats.error());
  const auto all = statuses_of(session->config, *stats, *session->facets.gates);
  if (!all) return console.fail(all.error());
  const std::vector<ConsumerStatus>& rows = *all;
  if (console.text()) {
    show_status_text(console, *session, *stats, rows);
  } else {
    show_status_json(console, *session, *stats, rows);
  }
  for (const auto& row : rows) {
    if (row.counts.dead_letters > 0) console.next("semel dlq list --consumer " + row.name);
    if (row.counts.dead_letters > 0) break;
  }
  const auto down = std::find_if(rows.begin(), rows.end(),
                                 [](const ConsumerStatus& row) { return row.state == "down"; });
  if (down == rows.end()) return kOk;
  console.note(fmt::format("semel: {} is down: {} wait for it and nobody runs it", down->name,
                           grouped(waiting(down->counts))));
  return kBad;
}

}  // namespace

void add_status(Program& program) {
  program
      .command({.name = "status",
                .description = "The consumers and their records on one screen",
                .group = "Operate",
                .flags = kConfigFlag | kConfigArgument | kOutput | kTime | kQuiet},
               [](Console& console) { return status(console); })
      .footer(
          "Exit code 1: a consumer is down, which is to say that messages wait for it and no "
          "process runs on the store.");
}

}  // namespace semel::cli
