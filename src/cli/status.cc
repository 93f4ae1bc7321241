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
#include "compose/live.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

constexpr std::chrono::milliseconds kAskWithin{500};

constexpr const char* kDown = "down";
constexpr const char* kFailing = "failing";
constexpr const char* kUnknown = "unknown";

// One consumer as the screen shows it.
struct ConsumerStatus {
  std::string name;
  std::string source;
  std::string strategy;
  std::string guarantee;
  std::string state;
  StoreStats::Consumer counts;
  std::optional<ShutGate> gate;
  std::vector<SourceView> sources;      // of the processes that run it here
  std::vector<SourceView> windows;      // likewise
  std::vector<HealthView> health;       // likewise
  std::optional<compose::LiveLag> lag;  // asked for where nobody runs it
  std::optional<StoreTime> last;        // when something last happened to it

  bool bad() const { return state == kDown || state == kFailing; }
};

std::string source_name(const config::SourceConfig& source) {
  if (const auto* file = std::get_if<config::FileSource>(&source)) return "file " + file->spec.path;
  return std::string(config::name_of(source));
}

// A retry is a record and a held message.
std::size_t waiting(const StoreStats::Consumer& counts) {
  return counts.consuming + std::max(counts.retrying, counts.held);
}

// Whether none of the processes that run it gets on: each has answered and told of a trouble. Those
// of other machines and users cannot be asked.
bool all_fail(const ConsumerStatus& row) {
  return std::ranges::all_of(row.counts.running_pids, [&](std::int64_t pid) {
    return std::ranges::any_of(row.health, [&](const HealthView& view) {
      return view.pid == pid && !view.troubles.empty();
    });
  });
}

// Down: something waits for it and no process runs it.
std::string state_of(const ConsumerStatus& row, bool known) {
  if (row.gate) return gate_word(row.gate);
  if (!row.counts.running_pids.empty()) return all_fail(row) ? kFailing : "running";
  if (waiting(row.counts) > 0 || (row.lag && row.lag->messages > 0)) return kDown;
  if (row.lag && row.lag->error) return kUnknown;
  return known ? "idle" : "new";
}

std::optional<StoreTime> last_of(const ConsumerStatus& row) {
  std::optional<StoreTime> last = row.counts.last_change;
  for (const HealthView& view : row.health) {
    if (view.last_end) last = std::max(*view.last_end, last.value_or(*view.last_end));
  }
  return last;
}

// Of the runs that can be asked: this user's, on this machine. Nobody else is waited for.
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
  row.source = source_name(consumer.source);
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
  if (row.counts.running_pids.empty()) row.lag = compose::look_lag(consumer);
  row.state = state_of(row, counts != nullptr);
  row.last = last_of(row);
  return row;
}

Result<std::vector<ConsumerStatus>> statuses_of(const config::Config& config,
                                                const StoreStats& stats, Gates& gates) {
  const auto runs = ask_runs(config, stats);
  std::vector<ConsumerStatus> rows;
  for (const auto& consumer : config.consumers) {
    const auto found =
        std::ranges::find(stats.consumers, consumer.name, &StoreStats::Consumer::name);
    const auto* counts = found == stats.consumers.end() ? nullptr : &*found;
    auto row = status_of(config, consumer, counts, runs, gates);
    if (!row) return failure(std::move(row.error()));
    rows.push_back(*std::move(row));
  }
  for (const auto& counts : stats.consumers) {
    if (config.find(counts.name) != nullptr) continue;
    ConsumerStatus row;
    row.name = counts.name;
    row.source = row.strategy = row.guarantee = "-";
    row.state = "removed";
    row.counts = counts;
    row.last = counts.last_change;
    rows.push_back(std::move(row));
  }
  return rows;
}

// How long the oldest waits, by this machine's clock.
std::optional<std::chrono::milliseconds> age_of_oldest(const ConsumerStatus& row) {
  if (!row.counts.oldest_waiting) return std::nullopt;
  const auto now = system::utc_now();
  return std::max(now - *row.counts.oldest_waiting, std::chrono::milliseconds(0));
}

std::size_t completed(const StoreStats& stats) {
  std::size_t sum = 0;
  for (const auto& generation : stats.generations) sum += generation.records;
  return sum;
}

void show_trouble(Console& console, const ConsumerStatus& row) {
  constexpr std::size_t kErrorShown = 200;
  for (const HealthView& view : row.health) {
    for (const HealthView::Trouble& trouble : view.troubles) {
      console.out(fmt::format("{}: process {} has trouble with the {} since {}: {}\n", row.name,
                              view.pid, trouble.where, console.time(trouble.since),
                              printable(trouble.text, kErrorShown)));
    }
  }
  if (!row.lag) return;
  if (row.lag->error) {
    console.out(fmt::format("{}: how much waits at the source is not known: {}\n", row.name,
                            printable(row.lag->error->message, kErrorShown)));
  } else if (row.lag->messages > 0) {
    console.out(fmt::format(
        "{}: {} at the source\n", row.name,
        counted(static_cast<std::uint64_t>(row.lag->messages), "message waits", "messages wait")));
  }
}

// As wide as a usual terminal, with short names.
std::string status_table(const std::vector<ConsumerStatus>& rows) {
  Table table(
      {"CONSUMER", "STATE", "CONSUMING", "RETRYING", "PARKED", "HELD", "DEAD LETTERS", "OLDEST"});
  constexpr std::size_t kFirstFigure = 2;
  constexpr std::size_t kColumns = 8;
  for (std::size_t i = kFirstFigure; i < kColumns; ++i) table.align_right(i);
  for (const auto& row : rows) {
    const auto age = age_of_oldest(row);
    table.row({row.name, row.state, grouped(row.counts.consuming), grouped(row.counts.retrying),
               grouped(row.counts.parked), grouped(row.counts.held),
               grouped(row.counts.dead_letters), age ? duration_text(*age) : "-"});
  }
  return table.text();
}

// Shows the source, the strategy and the guarantee, and the time of the last change.
void show_kind(Console& console, const ConsumerStatus& row) {
  std::string line = row.source == "-" ? row.state
                                       : fmt::format("{}, {}, {}", printable(row.source, 40),
                                                     row.strategy, row.guarantee);
  if (row.last) line += "; changed " + console.time(*row.last);
  console.out(fmt::format("{}: {}\n", row.name, line));
}

void show_status_text(Console& console, const Session& session, const StoreStats& stats,
                      const std::vector<ConsumerStatus>& rows) {
  console.out(fmt::format("{}: {} completed, {:.1f} MB, schema {}, epoch {}\n", session.where,
                          grouped(completed(stats)), static_cast<double>(stats.bytes) / 1e6,
                          stats.schema_version, stats.epoch));
  console.out(stats.running_pids.empty()
                  ? std::string("no process runs on it\n\n")
                  : fmt::format("running: pid {}\n\n", fmt::join(stats.running_pids, ", ")));
  console.out(status_table(rows));
  for (const auto& row : rows) {
    show_kind(console, row);
    for (const auto* views : {&row.sources, &row.windows}) {
      for (const auto& view : *views) {
        console.out(fmt::format("{}: {}\n", row.name, source_text(view)));
      }
    }
  }
  for (const auto& row : rows) show_trouble(console, row);
  for (const auto& row : rows) {
    if (!row.gate) continue;
    const std::string until =
        row.gate->until ? " until " + console.time(*row.gate->until) : std::string();
    console.out(fmt::format("{} is {} since {}{}: {}\n", row.name, gate_word(row.gate),
                            console.time(row.gate->since), until, printable(row.gate->why, 200)));
  }
}

void add_times(json::Writer& writer, const Console& console, const ConsumerStatus& row) {
  if (const auto age = age_of_oldest(row)) {
    writer.member("oldest_waiting", console.time(*row.counts.oldest_waiting));
    writer.member("oldest_waiting_ms", age->count());
  }
  if (row.last) writer.member("last_change", console.time(*row.last));
}

void add_health(json::Writer& writer, const Console& console, const ConsumerStatus& row) {
  writer.name("running_pids").begin_array();
  for (const auto pid : row.counts.running_pids) writer.value(pid);
  writer.end_array();
  if (row.lag && !row.lag->error) writer.member("lag", row.lag->messages);
  if (row.lag && row.lag->error) writer.member("lag_error", row.lag->error->message);
  writer.name("troubles").begin_array();
  for (const HealthView& view : row.health) {
    for (const HealthView::Trouble& trouble : view.troubles) {
      writer.begin_object().member("pid", view.pid).member("where", trouble.where);
      writer.member("since", console.time(trouble.since)).member("error", trouble.text);
      writer.end_object();
    }
  }
  writer.end_array();
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
    add_times(writer, console, row);
    add_health(writer, console, row);
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

// The first that is bad is told, and what could not be asked counts only where none is.
int verdict_on(Console& console, const std::vector<ConsumerStatus>& rows) {
  const auto bad = std::ranges::find_if(rows, &ConsumerStatus::bad);
  if (bad != rows.end() && bad->state == kFailing) {
    console.note(fmt::format("semel: {} is failing: no process that runs it gets on", bad->name));
    return kBad;
  }
  if (bad != rows.end()) {
    const auto at_source = bad->lag ? static_cast<std::size_t>(bad->lag->messages) : 0;
    console.note(
        fmt::format("semel: {} is down: {} for it and nobody runs it", bad->name,
                    counted(waiting(bad->counts) + at_source, "message waits", "messages wait")));
    return kBad;
  }
  for (const ConsumerStatus& row : rows) {
    if (row.state == kUnknown) return console.fail(*row.lag->error);
  }
  return kOk;
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
  return verdict_on(console, rows);
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
          "process runs it, or failing: no process that runs it can go on. 69: nobody runs it and "
          "its brokers do not answer. 78: they refuse, or its queue is not there.");
}

}  // namespace semel::cli
