#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/demo/trial.h"
#include "cli/text.h"
#include "compose/signals.h"

namespace semel::cli {

namespace {

using core::StrategyKind;
using demo::Storm;
using demo::TrialResult;

constexpr StrategyKind kAll[] = {StrategyKind::kQuery,           StrategyKind::kNatural,
                                 StrategyKind::kPessimisticLock, StrategyKind::kOptimisticLock,
                                 StrategyKind::kDedupTable,      StrategyKind::kInbox,
                                 StrategyKind::kStateMachine};
constexpr std::uint64_t kMostRaced = 50;
constexpr std::uint64_t kFewestMessages = 30;
constexpr std::uint64_t kMostMessages = 10'000'000;
constexpr std::uint64_t kFewestKills = 3;
constexpr std::uint64_t kMostKills = 1'000;
constexpr std::uint64_t kSeed = 1;

struct DemoFlags {
  std::string strategy = "dedup_table";
  bool compare = false;
  bool keep = false;
  std::uint64_t messages = 10'000;
  std::uint64_t kills = 5;
};

// A folder of its own, gone at the end unless it is to be kept.
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

// `query` is there to be seen failing; every other strategy must be right to the last cent.
bool as_promised(StrategyKind strategy, const TrialResult& result) {
  if (strategy == StrategyKind::kQuery) return result.doubled > 0;
  return result.lost == 0 && result.doubled == 0 && result.balance == result.expected_balance;
}

void add_result(json::Writer& writer, StrategyKind strategy, const TrialResult& result) {
  writer.member("strategy", core::to_string(strategy)).member("guarantee", result.guarantee);
  writer.member("messages", result.messages).member("sent", result.sent);
  writer.member("delivered", result.delivered).member("effects", result.effects);
  writer.member("duplicates", result.duplicates).member("interrupted", result.interrupted);
  writer.member("given_back", result.given_back).member("kills", result.kills);
  writer.member("lost", result.lost).member("doubled", result.doubled);
  writer.member("balance", result.balance).member("expected_balance", result.expected_balance);
  writer.member("seconds", result.seconds).member("per_second", result.per_second);
  writer.member("as_promised", as_promised(strategy, result));
}

void tell_one(Console& console, StrategyKind strategy, const TrialResult& result) {
  console.out(fmt::format(
      "  delivered {} = {} effects + {} duplicates suppressed + {} interrupted by kills{}\n",
      grouped(result.delivered), grouped(result.effects), grouped(result.duplicates),
      grouped(result.interrupted),
      result.given_back == 0 ? "" : fmt::format(" + {} given back", grouped(result.given_back))));
  const bool villain = strategy == StrategyKind::kQuery;
  const char* verdict = villain ? (result.doubled > 0 ? "as feared" : "NOT SHOWN")
                                : (as_promised(strategy, result) ? "OK" : "FAILED");
  console.out(
      fmt::format("  lost {}   doubled {}     {}        ({} messages/s, balance {} of {})\n",
                  grouped(result.lost), grouped(result.doubled), verdict,
                  grouped(static_cast<std::uint64_t>(result.per_second)), result.balance,
                  result.expected_balance));
  if (villain) {
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

  int one(StrategyKind strategy);
  int compare();
  bool stopped() const { return stopped_; }

 private:
  TrialResult trial(StrategyKind strategy);
  void tell_storm(const std::string& title);
  void tell_place();

  Console& console_;
  const DemoFlags& flags_;
  Folder folder_;
  Storm storm_;
  std::atomic<bool> stopped_{false};
  compose::SignalDrain signals_;
};

TrialResult Demo::trial(StrategyKind strategy) {
  const std::string name = core::to_string(strategy);
  demo::TrialOptions options;
  options.strategy = strategy;
  options.folder = folder_.sub(name);
  options.kills = flags_.kills;
  options.progress = [&](const std::string& line) { console_.progress(name + ": " + line); };
  options.stopped = [this] { return stopped_.load(); };
  return demo::run_trial(storm_, options);
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

int Demo::one(StrategyKind strategy) {
  tell_storm(core::to_string(strategy));
  const TrialResult result = trial(strategy);
  const bool well = as_promised(strategy, result);
  if (console_.text()) {
    tell_one(console_, strategy, result);
    console_.next(strategy == StrategyKind::kQuery ? "semel demo --compare"
                                                   : "semel init stdin/sql/sqlite > semel.yaml");
  } else {
    json::Writer writer = document("demo");
    add_result(writer, strategy, result);
    console_.out(writer.end_object());
  }
  tell_place();
  return well ? kOk : kBad;
}

int Demo::compare() {
  tell_storm("all strategies in one storm");
  Table table({"STRATEGY", "GUARANTEE", "DOUBLED", "LOST", "MESSAGES/S"});
  for (std::size_t column = 2; column <= 4; ++column) table.align_right(column);
  json::Writer writer = document("demo_compare");
  writer.member("messages", storm_.messages).member("sent", storm_.sent());
  writer.name("strategies").begin_array();
  bool well = true;
  for (const StrategyKind strategy : kAll) {
    const TrialResult result = trial(strategy);
    well = well && as_promised(strategy, result);
    table.row({core::to_string(strategy), result.guarantee, grouped(result.doubled),
               grouped(result.lost), grouped(static_cast<std::uint64_t>(result.per_second))});
    writer.begin_object();
    add_result(writer, strategy, result);
    writer.end_object();
  }
  writer.end_array().member("as_promised", well).end_object();
  if (console_.text()) {
    console_.out("\n" + table.text());
  } else {
    console_.out(writer);
  }
  tell_place();
  return well ? kOk : kBad;
}

int run_demo(Console& console, const DemoFlags& flags) {
  const auto strategy = core::strategy_from(flags.strategy);
  if (!strategy) {
    std::vector<std::string> names;
    for (const auto one : kAll) names.emplace_back(core::to_string(one));
    return console.fail(kUsage, fmt::format("--strategy cannot be \"{}\"", flags.strategy),
                        fmt::format("one of {}", fmt::join(names, ", ")));
  }
  Demo demo(console, flags);
  try {
    return flags.compare ? demo.compare() : demo.one(*strategy);
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
                  "or state_machine")
      ->type_name("NAME");
  command
      .add_flag("--compare", flags->compare, "All strategies, one after the other, in one table")
      ->excludes("--strategy");
  command.add_option("--messages", flags->messages, "How many messages (default: ten thousand)")
      ->check(CLI::Range(kFewestMessages, kMostMessages))
      ->option_text("N");
  command.add_option("--kills", flags->kills, "How often a worker is killed (default: five)")
      ->check(CLI::Range(kFewestKills, kMostKills))
      ->option_text("N");
  command.add_flag("--keep", flags->keep, "Keep the databases and logs, and say where");
  command.footer("Exit code 0: as the strategy promises. `query` promises nothing, and doubles.");
}

}  // namespace semel::cli
