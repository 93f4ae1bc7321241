// tap: shows how deliveries end, as they end, in the processes that run on a store.
#include "tap/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/delivery_view.h"
#include "cli/session.h"
#include "cli/text.h"
#include "compose/signals.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kWatchPatience{500};
// How long a stop waits if the reader of stdout does not read.
constexpr milliseconds kStopWithin{1'000};

const std::map<std::string, Body> kBodies = {
    {"none", Body::kNone}, {"json", Body::kJson}, {"hex", Body::kHex}};

struct TapFlags {
  std::string consumer;
  std::vector<std::string> outcomes;
  std::uint64_t limit = 0;
  std::string body = "none";
};

// A signal ends the loop. If the loop waits only for stdout, the signal ends the process.
class Stop {
 public:
  Stop() : signals_([this](int) { stop(); }) {}
  ~Stop() {
    const system::MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  int fd() const noexcept { return event_.get(); }

 private:
  void stop() SEMEL_EXCLUDES(mutex_) {
    event_.signal();
    const system::MutexLock lock(mutex_);
    if (!changed_.wait_for(mutex_, kStopWithin, [this]() SEMEL_REQUIRES(mutex_) { return ended_; }))
      ::_exit(kOk);
  }

  system::EventFd event_;
  system::Mutex mutex_;
  system::CondVar changed_;
  bool ended_ SEMEL_GUARDED_BY(mutex_) = false;
  compose::SignalDrain signals_;
};

OrEnded<Body> body_of(Console& console, const TapFlags& flags) {
  const auto found = kBodies.find(flags.body);
  if (found != kBodies.end()) return found->second;
  return tl::unexpected<Ended>(
      Ended{console.fail(kUsage, fmt::format("--body cannot be \"{}\"", printable(flags.body, 40)),
                         "one of none, json, hex")});
}

OrEnded<tap::Request> request_of(Console& console, const TapFlags& flags, Body body) {
  tap::Request request;
  request.consumer = flags.consumer;
  request.payload = body != Body::kNone;
  for (const std::string& word : flags.outcomes) {
    if (const auto kind = tap::outcome_of(word)) {
      request.outcomes.push_back(*kind);
      continue;
    }
    std::vector<std::string> words;
    for (const auto kind : tap::kAllOutcomes) words.emplace_back(to_string(kind));
    const auto near = nearest(word, words);
    return tl::unexpected<Ended>(
        Ended{console.fail(kUsage, fmt::format("--outcome cannot be \"{}\"", printable(word, 40)),
                           near ? fmt::format("did you mean \"{}\"?", *near)
                                : fmt::format("some of {}", fmt::join(words, ",")))});
  }
  return request;
}

// Turns events of the watched runs into lines.
class Teller {
 public:
  Teller(Console& console, const TapFlags& flags, Body body)
      : console_(console), consumer_(flags.consumer), limit_(flags.limit), body_(body) {}

  // False if the limit is reached.
  bool operator()(const tap::Event& event) {
    std::visit([this](const auto& met) { tell(met); }, event);
    return !full();
  }
  bool full() const noexcept { return limit_ > 0 && shown_ >= limit_; }
  // The exit code, if a run that cannot be watched was found since the last call.
  std::optional<int> failed() noexcept { return std::exchange(failed_, std::nullopt); }
  // Reports once that there is nothing to watch, until a run appears.
  void waits(const std::string& store) {
    if (!std::exchange(waits_, true)) {
      console_.note(
          fmt::format("semel: no semel run of {} on {}; waiting for one", consumer_, store));
    }
  }

 private:
  void tell(const tap::Attached& run) {
    console_.note(fmt::format("semel: watching process {}", run.pid));
    waits_ = false;
  }
  void tell(const tap::Detached& run) {
    console_.note(fmt::format("semel: process {} ended{}", run.pid,
                              run.whole ? "" : "; what it did last may be missing here"));
  }
  void tell(const tap::Unwatchable& run) { failed_ = console_.fail(run.error); }
  void tell(const tap::Missed& missed);
  void tell(const tap::Shown& shown);
  void tell_json(const tap::Shown& shown);

  Console& console_;
  std::string consumer_;
  std::uint64_t limit_;
  Body body_;
  std::uint64_t shown_ = 0;
  std::optional<int> failed_;
  bool waits_ = false;
};

void Teller::tell(const tap::Missed& missed) {
  if (console_.text()) {
    console_.out(fmt::format("… {} not shown: they came faster than they were read\n",
                             grouped(missed.count)));
  } else {
    console_.out(document("tap_gap")
                     .member("pid", missed.pid)
                     .member("not_shown", missed.count)
                     .end_object());
  }
}

void Teller::tell_json(const tap::Shown& shown) {
  const tap::DeliveryEvent& event = shown.event;
  json::Writer line = document("delivery");
  line.member("at", console_.time(event.at)).member("pid", shown.pid);
  add_delivery(line, console_, event.view());
  if (event.payload) add_payload(line, *event.payload, body_);
  if (event.payload_too_long) line.member("payload_too_long", *event.payload_too_long);
  console_.out(line.end_object());
}

void Teller::tell(const tap::Shown& shown) {
  ++shown_;
  if (!console_.text()) {
    tell_json(shown);
    return;
  }
  const tap::DeliveryEvent& event = shown.event;
  const bool verbose = console_.settings().verbose > 0;
  std::string text = fmt::format("{}  {}", console_.time(event.at),
                                 delivery_text(console_, event.view(), to_string(event.outcome),
                                               {.attempt = true, .place = verbose}));
  if (verbose) text += fmt::format(" · process {}", shown.pid);
  text += "\n";
  if (event.payload) text += fmt::format("    {}\n", payload_text(*event.payload, body_));
  if (event.payload_too_long) {
    text += fmt::format("    … {} bytes: too long to be shown\n", grouped(*event.payload_too_long));
  }
  console_.out(text);
}

int watch(Console& console, tap::Watch& watch, Teller& teller, const std::string& store) {
  const Stop stop;
  std::array<pollfd, 2> others{pollfd{stop.fd(), POLLIN, 0}, pollfd{STDOUT_FILENO, 0, 0}};
  auto alone_since = steady_clock::now();
  // The first step does not wait: if there is no run, that is reported immediately.
  for (milliseconds patience{0};; patience = kWatchPatience) {
    const auto stepped =
        watch.step(others, patience, [&](const tap::Event& event) { return teller(event); });
    if (!stepped) return console.fail(stepped.error());
    console.flush();
    if (teller.full() || console.out_broken()) return kOk;
    // The second descriptor becomes ready only if the reader of stdout has closed it.
    if (others[0].revents != 0 || others[1].revents != 0) return kOk;
    const auto failed = teller.failed();
    if (failed && watch.nobody()) return *failed;
    const auto now = steady_clock::now();
    if (watch.attached() > 0) alone_since = now;
    // A run that exists may be about to answer, or may be suspended and never answer.
    const bool alone = watch.nobody() || now - alone_since >= kWatchPatience;
    if (watch.attached() == 0 && alone) teller.waits(store);
  }
}

int tap_consumer(Console& console, const TapFlags& flags) {
  const auto body = body_of(console, flags);
  if (!body) return body.error().code;
  auto request = request_of(console, flags, *body);
  if (!request) return request.error().code;
  if (const auto refused = refuse_url(console)) return *refused;
  const auto config = load_config(console);
  if (!config) return config.error().code;
  const auto consumer = find_consumer(console, *config, flags.consumer);
  if (!consumer) return consumer.error().code;
  auto path = watched_path(*config);
  if (!path) return console.fail(path.error());
  if (path->empty()) {
    return console.fail({ErrorKind::kUnavailable, "R293",
                         "the store is memory: there is no file beside which a run could be found",
                         "store: { sqlite: { path: semel.db } }, or what semel run -v says"});
  }
  tap::Watch runs(*std::move(path), *std::move(request));
  Teller teller(console, flags, *body);
  return watch(console, runs, teller, store_name(*config));
}

}  // namespace

void add_tap(Program& program) {
  auto flags = std::make_shared<TapFlags>();
  auto& command = program.command(
      {.name = "tap",
       .description = "Show deliveries as they end in the processes that run on the store",
       .group = "Operate",
       .flags = kConfigFlag | kOutput | kTime | kQuiet | kVerbose},
      [flags](Console& console) { return tap_consumer(console, *flags); });
  command.add_option("CONSUMER", flags->consumer, "The consumer")->required();
  command
      .add_option("--outcome", flags->outcomes,
                  "Only these: done, duplicate, busy, conflict, retry, dead, discarded")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--limit", flags->limit, "End after so many")->type_name("N");
  command.add_option("--body", flags->body, "Payloads too: none, json or hex")
      ->type_name("FORM")
      ->capture_default_str();
  command.footer(
      "It changes nothing and holds nobody up: what it is too slow for is counted and not shown. "
      "SIGINT or SIGTERM ends it.");
}

}  // namespace semel::cli
