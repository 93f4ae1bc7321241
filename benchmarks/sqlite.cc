// SQLite: records and effects against what is written by hand, in the same run.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <semel/sqlite.h>
#include <semel/version.h>

#include "benchmarks/by_hand.h"
#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/processes.h"
#include "benchmarks/report.h"
#include "benchmarks/workload.h"

namespace semel::bench {
namespace {

using core::StrategyKind;

void check_sum(const std::string& path, long long expected) {
  const long long sum = sum_of_accounts(path);
  if (sum != expected) give_up(fmt::format("the accounts hold {} instead of {}", sum, expected));
}

// What one question is asked with: how many messages, which keys, what is done.
struct Setting {
  Work work = Work::kEffects;
  StrategyKind strategy = StrategyKind::kDedupTable;
  Keys keys = Keys::kOrdered;
};

class SqliteBench {
 public:
  explicit SqliteBench(const Options& options)
      : options_(options),
        report_(options),
        rounds_(options.quick ? 3 : 5),
        many_(options.quick ? 30'000 : 200'000),
        few_(options.quick ? 1'500 : 20'000) {}

  int run() {
    std::vector<std::string> lines = machine(options_.folder);
    lines.push_back(
        fmt::format("Semel {}, SQLite {}; WAL, synchronous=FULL, 32 MiB of cache each; {} byte "
                    "messages, {} hot rows, {} rounds of {} (naive: {})",
                    version(), sqlite3_libversion(), kPayload, kHotRows, rounds_, many_, few_));
    report_.header(lines);
    fresh("effects-ordered", {Work::kEffects, StrategyKind::kDedupTable, Keys::kOrdered},
          "claim + UPDATE");
    fresh("effects-random", {Work::kEffects, StrategyKind::kDedupTable, Keys::kRandom},
          "claim + UPDATE");
    preloaded();
    fresh("claims-ordered", {Work::kClaims, StrategyKind::kDedupTable, Keys::kOrdered},
          "claim alone");
    fresh("claims-random", {Work::kClaims, StrategyKind::kDedupTable, Keys::kRandom},
          "claim alone");
    fresh("inbox-ordered", {Work::kInbox, StrategyKind::kInbox, Keys::kOrdered},
          "claim + message kept + UPDATE");
    fresh("two-phase-ordered", {Work::kTwoPhase, StrategyKind::kStateMachine, Keys::kOrdered},
          "claim unsynced, completion synced");
    fresh("two-phase-random", {Work::kTwoPhase, StrategyKind::kStateMachine, Keys::kRandom},
          "claim unsynced, completion synced");
    latency();
    fairness();
    memory();
    report_.finish();
    return 0;
  }

 private:
  std::string new_file() {
    std::string path = fmt::format("{}/{}.db", options_.folder, ++files_);
    make_business_file(path);
    return path;
  }
  void remove(const std::string& path) const {
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
      if (entry.path().string().starts_with(path)) std::filesystem::remove(entry.path());
    }
  }
  std::vector<std::string> messages(std::size_t count, Keys keys) {
    return make_payloads(count, keys, ++seed_);
  }
  static std::unique_ptr<Store> open(const std::string& path) {
    SqliteOptions options;
    options.path = path;
    auto store = open_sqlite(std::move(options));
    if (!store) give_up(store.error().message);
    return std::move(*store);
  }
  static ConsumerRun run_of(const Setting& setting) {
    ConsumerRun run;
    run.strategy = setting.strategy;
    switch (setting.work) {
      case Work::kClaims:
        run.handler = no_effect(true);
        break;
      case Work::kTwoPhase:
        run.handler = no_effect(false);
        break;
      case Work::kEffects:
      case Work::kInbox:
        run.handler = effect_handler();
    }
    run.batch = kBatch;
    return run;
  }
  static bool has_effect(const Setting& setting) {
    return setting.work == Work::kEffects || setting.work == Work::kInbox;
  }

  double by_hand(const Setting& setting, std::size_t count, std::size_t batch) {
    const std::string path = new_file();
    const auto payloads = messages(count, setting.keys);
    const double rate = ByHand(path, setting.work).consume(payloads, batch);
    if (has_effect(setting)) check_sum(path, sum_of_amounts(payloads));
    remove(path);
    return rate;
  }
  double with_semel(const Setting& setting, std::size_t count) {
    const std::string path = new_file();
    const auto payloads = messages(count, setting.keys);
    auto store = open(path);
    const double rate = consume(*store, run_of(setting), payloads);
    store.reset();
    if (has_effect(setting)) check_sum(path, sum_of_amounts(payloads));
    remove(path);
    return rate;
  }

  // Each round in a file of its own.
  void fresh(const std::string& name, const Setting& setting, const std::string& what) {
    Case one;
    one.name = name;
    one.batch = kBatch;
    one.what = what;
    one.raw = [&] { return by_hand(setting, many_, kBatch); };
    one.naive = [&] { return by_hand(setting, few_, 1); };
    one.semel = [&] { return with_semel(setting, many_); };
    report_.run(one, rounds_);
  }

  // Random keys among those that are there already.
  void preloaded() {
    const std::string name = "effects-preloaded";
    if (!report_.wanted(name)) return;
    constexpr std::size_t kThere = 1'500'000;
    const std::string raw_path = new_file();
    const std::string semel_path = new_file();
    const Setting setting{Work::kEffects, StrategyKind::kDedupTable, Keys::kRandom};
    auto store = open(semel_path);
    {
      auto there = messages(kThere, Keys::kRandom);
      std::sort(there.begin(), there.end());  // by key, which stands first: loads sooner
      ByHand(raw_path, Work::kClaims).preload(there);
      ConsumerRun load = run_of({Work::kClaims, StrategyKind::kDedupTable, Keys::kRandom});
      load.batch = 1'000;
      consume(*store, load, there);
    }
    Case one;
    one.name = name;
    one.batch = kBatch;
    one.what = fmt::format("random keys, {} records there before", kThere);
    ByHand hand(raw_path, Work::kEffects);
    one.raw = [&] { return hand.consume(messages(many_, Keys::kRandom), kBatch); };
    one.naive = [&] { return hand.consume(messages(few_, Keys::kRandom), 1); };
    one.semel = [&] { return consume(*store, run_of(setting), messages(many_, Keys::kRandom)); };
    report_.run(one, rounds_);
    store.reset();
    remove(raw_path);
    remove(semel_path);
  }

  // Messages that come one at a time: the median from receive to settled, as a rate.
  void latency() {
    const Setting setting{Work::kEffects, StrategyKind::kDedupTable, Keys::kOrdered};
    Case one;
    one.name = "latency-single";
    one.batch = 1;
    one.what = "1 / p50 of one message at a time, raw: one transaction";
    one.raw = [&] {
      const std::string path = new_file();
      const auto took = ByHand(path, setting.work).latencies(messages(few_, setting.keys));
      remove(path);
      return 1 / median(took);
    };
    one.semel = [&] {
      const std::string path = new_file();
      auto store = open(path);
      ConsumerRun run = run_of(setting);
      run.at_a_time = 1;
      Tally tally;
      consume(*store, run, messages(few_, setting.keys), &tally);
      store.reset();
      remove(path);
      return 1 / median(tally.latencies);
    };
    report_.run(one, rounds_);
  }

  // Two processes on one file, each with messages of its own: the slower one's part.
  void fairness() {
    const std::string name = "fairness-two-processes";
    if (!report_.wanted(name)) return;
    std::vector<double> parts, totals, slower;
    for (std::size_t round = 0; round < rounds_; ++round) {
      const std::string path = new_file();
      open(path).reset();
      const auto [first, second] = run_pair(path, options_.quick ? 1 : 5);
      totals.push_back(first + second);
      slower.push_back(std::min(first, second));
      parts.push_back(slower.back() / totals.back());
      remove(path);
    }
    report_.add(name, kBatch, median(totals), median(slower), median(parts),
                "raw: both together; semel: the slower one");
  }

  // The program on a file of messages: how much memory it takes at most.
  void memory() {
    const std::string name = "memory-file-mib";
    if (!report_.wanted(name)) return;
    const std::size_t bytes = options_.quick ? 50'000'000 : 1'000'000'000;
    const FileRun run = run_file(options_.program, options_.folder, new_file(), bytes);
    report_.add(name, kBatch, std::nullopt, run.peak_mib, std::nullopt,
                fmt::format("MiB at most, semel run over {} MB in {:.1f} s", bytes / 1'000'000,
                            run.seconds));
  }

  const Options options_;
  Report report_;
  const std::size_t rounds_;
  const std::size_t many_;
  const std::size_t few_;
  std::size_t files_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == semel::bench::kPairMember) {
    return semel::bench::run_pair_member(argc, argv);
  }
  return semel::bench::SqliteBench(semel::bench::parse_options(argc, argv)).run();
}
