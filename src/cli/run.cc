#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/run_figures.h"
#include "cli/run_reload.h"
#include "cli/run_report.h"
#include "cli/service_manager.h"
#include "cli/session.h"
#include "cli/tally.h"
#include "cli/text.h"
#include "compose/admin.h"
#include "compose/compose.h"
#include "compose/signals.h"
#include "compose/traces.h"
#include "system/descriptor_limit.h"
#include "system/event_fd.h"
#include "system/mutex.h"
#include "system/periodic.h"
#include "tap/server.h"

namespace semel::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kTick{200};
constexpr int kHurry = 2;
constexpr milliseconds kStartPatience{800};
constexpr const char* kStoppedAtStart = "semel: stopped before it had received anything";

struct RunFlags {
  bool once = false;
  std::string drain_timeout;
  std::string ui;  // the address to listen on; empty: as in the config
  bool no_ui = false;
  std::string tally;
};

// Flushes the output and shows progress, on a thread of its own.
class Ticker {
 public:
  Ticker(Console& console, const RunReport& report)
      : console_(console), report_(report), ticks_(kTick, [this] { tick(); }) {}

 private:
  void tick() {
    console_.flush();
    if (console_.out_broken() && !told_) {
      told_ = true;
      console_.note("semel: nobody reads stdout any more; the work goes on");
    }
    // Lines of deliveries on the same terminal are progress enough.
    const bool lines = console_.text() && console_.settings().verbose > 0;
    if (console_.out_is_terminal() && lines) return;
    const RunCounts counts = report_.counts();
    const std::chrono::duration<double> so_far = steady_clock::now() - began_;
    console_.progress(fmt::format("{} deliveries  {} effects  {}/s", grouped(counts.deliveries()),
                                  grouped(counts.of(Outcome::Kind::kDone)),
                                  grouped(static_cast<std::uint64_t>(
                                      static_cast<double>(counts.deliveries()) / so_far.count()))));
  }

  Console& console_;
  const RunReport& report_;
  const steady_clock::time_point began_ = steady_clock::now();
  bool told_ = false;
  system::Periodic ticks_;
};

// Stops the run at a signal, which may come before there is a service to stop.
class Stopper {
 public:
  explicit Stopper(Console& console) : console_(console) {}

  void signalled(int signal) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    ++stops_;
    if (signal == SIGINT) ++interrupts_;
    event_.signal();
    if (service_ != nullptr) return service_->stop();
    if (!built_.wait_for(mutex_, kStartPatience,
                         [this]() SEMEL_REQUIRES(mutex_) { return !building_; })) {
      end_at_start();
    }
  }
  // Called once the service is built; null if it could not be built.
  void serve(compose::Service* service) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    building_ = false;
    built_.notify_all();
    service_ = service;
    if (service == nullptr) return;
    for (int i = 0; i < stops_; ++i) service->stop();
  }
  void end_waits() noexcept { event_.signal(); }
  // Becomes readable at the first signal, and after end_waits().
  int fd() const noexcept { return event_.get(); }
  bool stopped() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return stops_ > 0;
  }
  bool interrupted() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return interrupts_ >= kHurry;
  }

 private:
  // A name lookup or a connection attempt blocks and cannot be interrupted. No message was received
  // yet.
  [[noreturn]] void end_at_start() {
    console_.note(kStoppedAtStart);
    console_.flush();
    ::_exit(kOk);
  }

  Console& console_;
  system::EventFd event_;
  system::Mutex mutex_;
  system::CondVar built_;
  bool building_ SEMEL_GUARDED_BY(mutex_) = true;
  compose::Service* service_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  int stops_ SEMEL_GUARDED_BY(mutex_) = 0;
  int interrupts_ SEMEL_GUARDED_BY(mutex_) = 0;
};

std::vector<std::string> names_of(const config::Config& config) {
  std::vector<std::string> names;
  for (const auto& consumer : config.consumers) names.push_back(consumer.name);
  return names;
}

bool takes_requests(const config::Config& config) {
  return std::ranges::any_of(config.consumers, [](const config::ConsumerConfig& consumer) {
    return std::holds_alternative<config::HttpSource>(consumer.source);
  });
}

std::size_t longest_name(const config::Config& config) {
  std::size_t longest = 0;
  for (const auto& consumer : config.consumers) longest = std::max(longest, consumer.name.size());
  return longest;
}

void greet_terminal(Console& console, const config::Config& config) {
  for (const auto& consumer : config.consumers) {
    if (std::holds_alternative<config::StdinSource>(consumer.source) && console.in_is_terminal()) {
      console.note(fmt::format("semel: {} reads JSON lines from this terminal; Ctrl-D ends them",
                               consumer.name));
    }
  }
}

// Created before the store is opened, so that a waiting tap can connect before the first delivery.
// A dry run ends no deliveries, and with the memory store a tap could not find the run.
Result<std::unique_ptr<tap::Server>> let_watch(Console& console, const config::Config& config) {
  if (console.settings().dry_run) return nullptr;
  auto path = watched_path(config);
  if (!path) return failure(std::move(path.error()));
  if (path->empty()) return nullptr;
  tap::ServerOptions options;
  options.database = *std::move(path);
  options.consumers = names_of(config);
  return tap::Server::open(std::move(options));
}

tap::Figures figures_of(compose::Service& service, const telemetry::HealthObserver& health) {
  tap::Figures made = health_figures(health.snapshot());
  for (auto& source : service.figures()) {
    for (SourceFigure& figure : source.figures) {
      made.all.push_back({source.consumer, source.source, std::move(figure)});
    }
  }
  return made;
}

// The listener opens before the store, so that a probe can tell a slow start from a failed one.
Result<std::unique_ptr<compose::Admin>> open_admin(Console& console, const config::Config& config) {
  auto admin = compose::Admin::open(config, console.settings().dry_run);
  if (admin && (*admin)->port() != 0 && console.settings().quiet == 0) {
    console.note(fmt::format("semel: dashboard, metrics and health on port {}", (*admin)->port()));
  }
  if (admin && config.admin && config.admin->socket && !console.settings().dry_run &&
      console.settings().quiet == 0) {
    console.note(fmt::format("semel: API on unix:{}", config.admin->socket->path));
  }
  return admin;
}

void tell_unwatched(Console& console, const Error& error) {
  if (console.logs_json()) {
    LogLine line = log_line(error);
    line.level = LogLevel::kWarning;
    return console.log(line);
  }
  console.note(fmt::format("semel: {}; fix: {}", error.message, error.hint));
}

int build_failed(Console& console, const Error& error) {
  console.fail(error);
  return compose::exit_code_of_run(error);
}

void tell_summary(Console& console, const RunReport& report, steady_clock::duration time) {
  const RunCounts counts = report.counts();
  const bool dry_run = console.settings().dry_run;
  if (console.format() == Format::kJson) {
    json::Writer summary = document("run");
    summary.member("dry_run", dry_run);
    add_counts(summary, counts);
    summary.member("seconds", std::chrono::duration<double>(time).count());
    console.out(summary.end_object());
  } else if (console.text() && console.settings().quiet == 0) {
    if (console.logs_json()) return console.note(summary_text(counts, dry_run));
    console.out(summary_text(counts, dry_run) + "\n");
    const bool dead = counts.of(Outcome::Kind::kDead) + counts.of(Outcome::Kind::kConflict) > 0;
    const bool parked = counts.of(Outcome::Kind::kParked) > 0;
    if (dead || counts.refused > 0) console.next("semel dlq list");
    if (parked) console.next("semel records list --state parked");
    if (!dead && counts.refused == 0 && !parked) console.next("semel status");
  }
}

std::vector<std::string> sets_of(const RunFlags& flags) {
  if (flags.ui.empty()) return {};
  return {"admin.listen=" + flags.ui};
}

// Flags outrank the config file.
void apply(const RunFlags& flags, config::Config& config) {
  if (flags.no_ui) {
    config.admin.reset();
    std::erase_if(config.effective, [](const config::EffectiveValue& value) {
      return value.path.starts_with("admin.");
    });
  }
  if (flags.drain_timeout.empty()) return;
  config.drain_timeout = parse_duration(flags.drain_timeout).value_or(config.drain_timeout);
  for (config::EffectiveValue& value : config.effective) {
    if (value.path != "drain_timeout") continue;
    value.value = flags.drain_timeout;
    value.origin = "--drain-timeout";
  }
}

OrEnded<config::Config> config_with(Console& console, const RunFlags& flags) {
  auto config = load_config_to_run(console, sets_of(flags));
  if (!config) return config;
  if (!flags.drain_timeout.empty() && !parse_duration(flags.drain_timeout)) {
    return ended(console.fail(kUsage,
                              fmt::format("--drain-timeout cannot be \"{}\"", flags.drain_timeout),
                              "a duration, as 500ms, 20s, 5m"));
  }
  apply(flags, *config);
  return config;
}

// Loads the same file as at the start, with the same flags.
config::Loaded load_again(const Console& console, const RunFlags& flags, const std::string& file) {
  config::LoadOptions options;
  options.sets = console.settings().sets;
  for (std::string& set : sets_of(flags)) options.sets.push_back(std::move(set));
  config::Loaded loaded = config::load_file(file, options);
  if (loaded.config) apply(flags, *loaded.config);
  return loaded;
}

void tell_risks(Console& console, const compose::Service& service) {
  if (console.settings().quiet > 0) return;
  for (const std::string& risk : service.risks()) {
    console.note(fmt::format("warning[D131] store: {}", risk));
  }
}

// A run whose parts are built.
struct Built {
  Console& console;
  const RunReport& report;
  Stopper& stopper;
  RunReload& reload;
  compose::Service& service;
  compose::Admin& admin;
  compose::Traces* traces;  // null: the run exports no spans
  tap::Server* watched;     // null: the run cannot be watched
};

int work(const Built& run) {
  // Created before the reloader: a manager that learns that the run is ready may ask for a reload
  // at once.
  const ServiceManager manager([&] { return run.service.is_stopping(); });
  run.reload.tell(&manager);
  run.reload.reloader().serve(run.service, run.admin);
  auto serving =
      std::make_unique<compose::Admin::Serving>(run.admin, run.service, &run.reload.reloader());
  if (run.watched != nullptr) {
    run.watched->serve_figures([&] { return figures_of(run.service, run.admin.health()); });
  }
  int code = 0;
  {
    const Ticker ticker(run.console, run.report);
    code = run.service.run();
  }
  // Abort a call to a store that does not answer.
  run.stopper.end_waits();
  run.reload.reloader().leave();
  run.reload.tell(nullptr);
  serving.reset();
  if (run.traces != nullptr) run.traces->end();
  if (run.watched != nullptr) run.watched->serve_figures({});
  return code;
}

compose::ServiceOptions options_with(Console& console, const RunFlags& flags, Observer& report,
                                     int stop_fd) {
  compose::ServiceOptions options;
  options.observers.push_back(&report);
  options.once = flags.once;
  options.dry_run = console.settings().dry_run;
  options.stop_fd = stop_fd;
  if (console.logs_json()) {
    options.on_hung = [&console](std::string_view consumer, const Error& error) {
      LogLine line = log_line(error);
      line.consumer = consumer;
      console.log(line);
    };
  }
  return options;
}

int run(Console& console, const RunFlags& flags) {
  const auto config = config_with(console, flags);
  if (!config) return config.error().code;
  console.begin_log();
  greet_terminal(console, *config);
  // Each connection of an HTTP source needs a descriptor.
  if (takes_requests(*config)) system::raise_descriptor_limit();

  RunReport report(console, longest_name(*config), console.settings().dry_run);
  std::optional<Tally> tally;
  Stopper stopper(console);
  tap::Server* watched = nullptr;
  RunReload reload(console, *config,
                   {flags.once, [&] { return load_again(console, flags, config->file); },
                    [&](const config::Config& taken) {
                      if (watched != nullptr) watched->set_consumers(names_of(taken));
                    }});
  const Terminal terminal;
  compose::SignalDrain signals([&](int signal) { stopper.signalled(signal); },
                               [&] {
                                 if (terminal.is_closed()) return stopper.signalled(SIGTERM);
                                 reload.reloader().request();
                               });
  compose::ServiceOptions options = options_with(console, flags, report, stopper.fd());
  options.on_phase = [&] { reload.reloader().nudge(); };
  const auto traces = compose::Traces::open(*config, {}, options);
  if (!traces) {
    stopper.serve(nullptr);
    return build_failed(console, traces.error());
  }
  if (*traces) (*traces)->watch(options);
  const auto admin = open_admin(console, *config);
  if (!admin) {
    stopper.serve(nullptr);
    return build_failed(console, admin.error());
  }
  (*admin)->watch(options);
  if (!flags.tally.empty()) options.observers.push_back(&tally.emplace(flags.tally));
  const auto server = let_watch(console, *config);
  if (server && *server) options.observers.push_back(watched = server->get());
  auto service = compose::Service::build(*config, std::move(options));
  if (!service) {
    stopper.serve(nullptr);
    // Any error other than an aborted wait would come again at the next start.
    const bool waited = service.error().kind == ErrorKind::kUnavailable;
    if (!stopper.stopped() || !waited) return build_failed(console, service.error());
    console.note(kStoppedAtStart);
    return kOk;
  }
  if (!server) tell_unwatched(console, server.error());

  tell_risks(console, **service);
  stopper.serve(service->get());
  const auto began = steady_clock::now();
  const int code =
      work({console, report, stopper, reload, **service, **admin, traces->get(), watched});
  stopper.serve(nullptr);
  tell_summary(console, report, steady_clock::now() - began);
  return code == kOk && stopper.interrupted() ? kInterrupted : code;
}

}  // namespace

void add_run(Program& program) {
  auto flags = std::make_shared<RunFlags>();
  auto& command = program.command(
      {.name = "run",
       .description = "Run the config's consumers, until stopped",
       .group = "Start",
       .flags = kConfigFlag | kConfigArgument | kOutput | kTime | kQuiet | kVerbose | kDryRun},
      [flags](Console& console) { return run(console, *flags); });
  command.add_flag("--once", flags->once,
                   "Stop when the sources are at their end, nothing is in flight and no retry is "
                   "due later");
  command
      .add_option("--drain-timeout", flags->drain_timeout,
                  "How long a stop waits for what is running, over the config's")
      ->type_name("DURATION");
  command.add_flag("--ui{127.0.0.1:8585}", flags->ui,
                   "Serve the dashboard, metrics and health; --ui=ADDRESS:PORT elsewhere than at "
                   "127.0.0.1:8585");
  command.add_flag("--no-ui", flags->no_ui, "Serve none, whatever the config says")
      ->excludes("--ui");
  // Counts that survive a kill. `semel demo` uses them, because it kills the runs that it starts.
  command.add_option("--tally", flags->tally)->group("");
  command.footer(
      "It says what went wrong, and at its end how much was done; -v says of each message how it "
      "ended, and -vv the attempt and its place too. "
      "SIGTERM or SIGINT drains: what runs is finished, the rest given back. A second one "
      "hurries. SIGHUP reads the config again: consumers that changed are drained and begin anew, "
      "the others go on.");
}

}  // namespace semel::cli
