#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/command.h"
#include "cli/demo/free_address.h"
#include "cli/demo/own_work.h"
#include "cli/demo/redis.h"
#include "cli/demo/trial.h"
#include "cli/text.h"
#include "compose/signals.h"
#include "config/adapters.h"

namespace semel::cli {

namespace {

using demo::Contender;
using demo::Storm;
using demo::TrialResult;

constexpr std::uint64_t kMostRaced = 50;
constexpr std::uint64_t kFewestMessages = 30;
constexpr std::uint64_t kMostMessages = 10'000'000;
constexpr std::uint64_t kFewestKills = 3;
constexpr std::uint64_t kMostKills = 1'000;
constexpr std::uint64_t kSeed = 1;
constexpr std::chrono::milliseconds kStayPause{50};

struct DemoFlags {
  std::string strategy = "dedup_table";
  bool compare = false;
  bool keep = false;
  std::string ui;
  bool no_ui = false;
  std::uint64_t messages = 10'000;
  std::uint64_t kills = 5;
  // Set if the program runs as a worker: the trial's folder, and the path of its tally.
  std::string own_work;
  bool own_stdin = false;
  std::string tally;
};

// A folder that is removed at the end unless it is to be kept.
class Folder {
 public:
  explicit Folder(bool keep) : keep_(keep) {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/semel-demo.XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      throw SemelError({ErrorKind::kUnavailable,
                        {},
                        "cannot make a folder " + path_ + ": " + std::strerror(errno),
                        "TMPDIR names another place"});
    }
  }
  ~Folder() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string sub(const std::string& name) const {
    std::string path = path_ + "/" + name;
    std::filesystem::create_directory(path);
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  bool keep_;
  std::string path_;
};

// True if the result is as promised. Villains must fail, to be instructive. Work outside the
// transaction may repeat after a kill. at_most_once must know what it has not done. All others must
// be exact to the last cent.
bool as_promised(const Contender& contender, const TrialResult& result) {
  if (contender.own_work == demo::OwnWork::kSetNx) return result.lost > 0;
  if (contender.villain()) return result.doubled > 0;
  if (contender.own_work == demo::OwnWork::kGuard) {
    return result.lost == 0 && result.doubled <= result.kills;
  }
  if (contender.strategy == core::StrategyKind::kAtMostOnce) {
    return result.doubled == 0 && result.lost <= result.parked;
  }
  if (contender.own_work == demo::OwnWork::kCall) return result.lost == 0;
  return result.lost == 0 && result.doubled == 0 && result.balance == result.expected_balance;
}

void add_result(json::Writer& writer, const Contender& contender, const TrialResult& result) {
  writer.member("strategy", contender.name).member("guarantee", result.guarantee);
  writer.member("messages", result.messages).member("sent", result.sent);
  writer.member("delivered", result.delivered).member("effects", result.effects);
  writer.member("duplicates", result.duplicates).member("interrupted", result.interrupted);
  writer.member("given_back", result.given_back).member("kills", result.kills);
  writer.member("calls", result.calls).member("parked", result.parked);
  writer.member("lost", result.lost).member("doubled", result.doubled);
  writer.member("balance", result.balance).member("expected_balance", result.expected_balance);
  writer.member("seconds", result.seconds).member("per_second", result.per_second);
  writer.member("as_promised", as_promised(contender, result));
}

void tell_one(Console& console, const Contender& contender, const TrialResult& result) {
  console.out(fmt::format(
      "  delivered {} = {} effects + {} duplicates suppressed + {} interrupted by kills{}\n",
      grouped(result.delivered), grouped(result.effects), grouped(result.duplicates),
      grouped(result.interrupted),
      result.given_back == 0 ? "" : fmt::format(" + {} given back", grouped(result.given_back))));
  if (contender.calls()) {
    console.out(fmt::format("  {} calls of the service, {} messages parked for a person\n",
                            grouped(result.calls), grouped(result.parked)));
  }
  const bool well = as_promised(contender, result);
  const char* verdict =
      contender.villain() ? (well ? "as feared" : "NOT SHOWN") : (well ? "OK" : "FAILED");
  console.out(
      fmt::format("  lost {}   doubled {}     {}        ({} messages/s, balance {} of {})\n",
                  grouped(result.lost), grouped(result.doubled), verdict,
                  grouped(static_cast<std::uint64_t>(result.per_second)), result.balance,
                  result.expected_balance));
  if (contender.own_work == demo::OwnWork::kSetNx) {
    console.out(
        "  a worker set the key and died; who came after it saw the key: marked is not done\n");
  } else if (contender.villain()) {
    console.out("  two processes looked, both saw nothing, both acted: looking is not claiming\n");
  }
}

class Demo {
 public:
  Demo(Console& console, const DemoFlags& flags)
      : console_(console),
        flags_(flags),
        folder_(flags.keep),
        storm_(demo::make_storm(flags.messages, kMostRaced, kSeed)),
        signals_([this](int) { stopped_ = true; }) {}

  int one(const Contender& contender);
  int compare();
  bool stopped() const { return stopped_; }

 private:
  TrialResult trial(const Contender& contender, const std::string& ui = {},
                    const std::function<void(const TrialResult&)>& ended = {});
  std::string page_of(const Contender& contender) const;
  void tell_result(const Contender& contender, const TrialResult& result);
  void stay() const;
  void tell_storm(const std::string& title);
  void tell_place();

  Console& console_;
  const DemoFlags& flags_;
  const std::optional<std::string> redis_server_ = demo::find_redis_server();
  Folder folder_;
  Storm storm_;
  std::atomic<bool> stopped_{false};
  compose::SignalDrain signals_;
};

TrialResult Demo::trial(const Contender& contender, const std::string& ui,
                        const std::function<void(const TrialResult&)>& ended) {
  const std::string name = contender.name;
  demo::TrialOptions options;
  options.contender = contender;
  options.redis_server = redis_server_.value_or("");
  options.folder = folder_.sub(name);
  options.kills = flags_.kills;
  options.progress = [&](const std::string& line) { console_.progress(name + ": " + line); };
  options.stopped = [this] { return stopped_.load(); };
  options.ui = ui;
  if (flags_.ui.empty()) {
    options.ui_taken = [this] {
      console_.note("no dashboard: somebody else has taken its port meanwhile");
    };
  }
  return demo::run_trial(storm_, options, ended);
}

// The address of the dashboard; empty: none is served. At a terminal it is served without being
// asked for; a script must not be surprised by a listener.
std::string Demo::page_of(const Contender& contender) const {
  if (!flags_.ui.empty() || flags_.no_ui) return flags_.ui;
  const bool watched = console_.text() && console_.out_is_terminal() &&
                       console_.err_is_terminal() && console_.settings().quiet == 0;
  const auto missing = config::missing_adapters();
  const bool built = std::ranges::find(missing, "ADMIN") == missing.end();
  if (!watched || !built || contender.own_work) return {};
  return demo::free_address().value_or("");
}

// A signal is noticed within the pause.
void Demo::stay() const {
  console_.note(fmt::format("the dashboard stays at http://{} until Ctrl-C", flags_.ui));
  while (!stopped_) std::this_thread::sleep_for(kStayPause);
}

void Demo::tell_result(const Contender& contender, const TrialResult& result) {
  if (console_.text()) {
    tell_one(console_, contender, result);
    console_.next(contender.villain() ? "semel demo --compare"
                                      : "semel init stdin/sql/sqlite > semel.yaml");
  } else {
    json::Writer writer = document("demo");
    add_result(writer, contender, result);
    console_.out(writer.end_object());
  }
  console_.flush();
}

void Demo::tell_storm(const std::string& title) {
  if (!console_.text()) return;
  console_.out(fmt::format("semel demo: {}\n", title));
  console_.out(fmt::format(
      "  sending {} messages, every third one again ({} deliveries, {} pairs of them at the same "
      "moment to two processes), killing workers {} times …\n",
      grouped(storm_.messages), grouped(storm_.sent()), grouped(storm_.raced), flags_.kills));
  console_.flush();
}

void Demo::tell_place() {
  if (flags_.keep) console_.note(fmt::format("kept: {}", folder_.path()));
}

int Demo::one(const Contender& contender) {
  if (contender.needs_redis() && !redis_server_) {
    const Error why = demo::no_redis_server();
    return console_.fail(
        kUnavailable, fmt::format("{} needs a Redis of its own: {}", contender.name, why.message),
        why.hint);
  }
  if (!flags_.ui.empty() && contender.own_work) {
    return console_.fail(
        kUsage, fmt::format("--ui has nothing to show of {}", contender.name),
        "its workers are no semel run: take one of the other strategies, as dedup_table");
  }
  tell_storm(contender.name);
  const std::string page = page_of(contender);
  const bool stays = !flags_.ui.empty();
  if (!page.empty()) {
    console_.note(fmt::format("dashboard: http://{}{}", page,
                              stays ? "" : " while this runs; --ui keeps it, --no-ui serves none"));
  }
  const TrialResult result = trial(contender, page, [&](const TrialResult& made) {
    tell_result(contender, made);
    if (stays) stay();
  });
  const bool well = as_promised(contender, result);
  tell_place();
  return well ? kOk : kBad;
}

int Demo::compare() {
  tell_storm("all strategies in one storm");
  Table table({"STRATEGY", "GUARANTEE", "DOUBLED", "LOST", "PARKED", "CALLS", "MESSAGES/S"});
  for (std::size_t column = 2; column <= 6; ++column) table.align_right(column);
  json::Writer writer = document("demo_compare");
  writer.member("messages", storm_.messages).member("sent", storm_.sent());
  writer.name("strategies").begin_array();
  bool well = true;
  std::vector<std::string> not_shown;
  for (const Contender& contender : demo::contenders()) {
    if (contender.needs_redis() && !redis_server_) {
      not_shown.emplace_back(contender.name);
      continue;
    }
    const TrialResult result = trial(contender);
    well = well && as_promised(contender, result);
    table.row({contender.name, result.guarantee, grouped(result.doubled), grouped(result.lost),
               contender.calls() ? grouped(result.parked) : "-",
               contender.calls() ? grouped(result.calls) : "-",
               grouped(static_cast<std::uint64_t>(result.per_second))});
    writer.begin_object();
    add_result(writer, contender, result);
    writer.end_object();
  }
  writer.end_array().name("not_shown").begin_array();
  for (const std::string& name : not_shown) writer.value(name);
  writer.end_array().member("as_promised", well).end_object();
  if (console_.text()) {
    console_.out("\n");
    console_.out(table);
    if (!not_shown.empty()) {
      const Error why = demo::no_redis_server();
      console_.note(
          fmt::format("not shown: {}: {} ({})", fmt::join(not_shown, ", "), why.message, why.hint));
    }
  } else {
    console_.out(writer);
  }
  tell_place();
  return well ? kOk : kBad;
}

int run_own_work(Console& console, const DemoFlags& flags, demo::OwnWork kind) {
  try {
    return demo::do_own_work({kind, flags.own_work, flags.tally, flags.own_stdin});
  } catch (const SemelError& error) {
    return console.fail(error.error());
  }
}

int run_demo(Console& console, const DemoFlags& flags) {
  const Contender* contender = demo::contender_of(flags.strategy);
  if (contender == nullptr) {
    std::vector<std::string> names;
    for (const auto& one : demo::contenders()) names.emplace_back(one.name);
    return console.fail(kUsage, fmt::format("--strategy cannot be \"{}\"", flags.strategy),
                        fmt::format("one of {}", fmt::join(names, ", ")));
  }
  if (!flags.own_work.empty() && contender->own_work) {
    return run_own_work(console, flags, *contender->own_work);
  }
  Demo demo(console, flags);
  try {
    return flags.compare ? demo.compare() : demo.one(*contender);
  } catch (const SemelError& error) {
    if (demo.stopped()) return kInterrupted;
    return console.fail(error.error());
  }
}

}  // namespace

void add_demo(Program& program) {
  auto flags = std::make_shared<DemoFlags>();
  auto& command =
      program.command({.name = "demo",
                       .description = "See it: duplicates sent, workers killed, effects counted",
                       .group = "Start",
                       .flags = kOutput | kQuiet},
                      [flags](Console& console) { return run_demo(console, *flags); });
  command
      .add_option("--strategy", flags->strategy,
                  "query, natural, pessimistic_lock, optimistic_lock, dedup_table (default), inbox "
                  "or state_machine; set_nx or redis_guard, with keys in a Redis of its own; "
                  "plain_call, fence or at_most_once, which call a service")
      ->type_name("NAME");
  command
      .add_flag("--compare", flags->compare, "All strategies, one after the other, in one table")
      ->excludes("--strategy");
  command
      .add_option("--messages", flags->messages,
                  fmt::format("How many messages, {} to {} (default: ten thousand)",
                              kFewestMessages, grouped(kMostMessages)))
      ->check(CLI::Range(kFewestMessages, kMostMessages))
      ->option_text("N");
  command
      .add_option("--kills", flags->kills,
                  fmt::format("How often a worker is killed, {} to {} (default: five)",
                              kFewestKills, kMostKills))
      ->check(CLI::Range(kFewestKills, kMostKills))
      ->option_text("N");
  command.add_flag("--keep", flags->keep, "Keep the databases and logs, and say where");
  command
      .add_flag("--ui{127.0.0.1:8585}", flags->ui,
                "Serve the dashboard meanwhile, and until Ctrl-C; --ui=ADDRESS:PORT elsewhere than "
                "at 127.0.0.1:8585. On a terminal it is served meanwhile in any case")
      ->excludes("--compare");
  command.add_flag("--no-ui", flags->no_ui, "Serve none, also on a terminal")->excludes("--ui");
  command.add_option("--own-work", flags->own_work)->group("");
  command.add_flag("--own-stdin", flags->own_stdin)->group("");
  command.add_option("--tally", flags->tally)->group("");
  command.footer(
      "Exit code 0: as the strategy promises. `query` promises nothing, and doubles; `set_nx`, the "
      "usual SET key 1 EX 86400 NX before the work, loses.");
}

}  // namespace semel::cli
