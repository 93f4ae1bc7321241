#include "benchmarks/server_bench.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <semel/version.h>

#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/workload.h"

namespace semel::bench {
namespace {

constexpr Setting kEffects{};

}  // namespace

ServerBench::ServerBench(const Options& options, MakePlace make_place)
    : options_(options),
      make_place_(std::move(make_place)),
      report_(options),
      sizes_{options.quick ? 3U : 5U, options.quick ? 20'000U : 200'000U,
             options.quick ? 1'500U : 10'000U, kRows},
      stores_(report_, sizes_, [this] { return make_place_(kRows); }) {}

void ServerBench::run(const std::string& server) {
  std::vector<std::string> lines = machine(options_.folder);
  lines.push_back(server);
  lines.push_back(fmt::format(
      "Semel {}; unix socket, {} byte messages, {} hot rows, {} rounds of {} (naive: {})",
      version(), kPayload, kRows, sizes_.rounds, sizes_.many, sizes_.few));
  report_.header(lines);
  stores_.fresh();
  constexpr std::size_t kEight = 8;
  stores_.naive_on(kEight);
  stores_.latency();
  for (const std::size_t rows : {10U, 100U, 1'000U, 10'000U}) hot_rows(rows);
  const std::size_t there = options_.preload.value_or(options_.quick ? 200'000 : 10'000'000);
  stores_.preloaded("preloaded-ordered", there, Keys::kOrdered);
  stores_.preloaded("preloaded-random", there, Keys::kRandom);
  purge();
  report_.finish();
}

// Two consumers at once whose messages change the same rows.
void ServerBench::hot_rows(std::size_t rows) {
  Case one;
  one.name = fmt::format("hot-rows-{}", rows);
  one.batch = kBatch;
  one.what = "claim + UPDATE; raw: one consumer, semel: two on the same rows";
  std::uint64_t seed = 1'000 * rows;
  const auto consumers = [&](std::size_t count) {
    const auto place = make_place_(rows);
    std::vector<std::unique_ptr<Store>> stores;
    std::vector<std::vector<std::string>> parts;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
      stores.push_back(place->open());
      parts.push_back(make_payloads(sizes_.many / count, Keys::kOrdered, ++seed, rows));
      all.insert(all.end(), parts.back().begin(), parts.back().end());
    }
    const Stopwatch watch;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        ConsumerRun run = StoreBench::run_of(kEffects);
        run.name = fmt::format("bench{}", i);
        consume(*stores[i], run, parts[i]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double rate = static_cast<double>(all.size()) / watch.seconds();
    stores.clear();
    StoreBench::check_sum(*place, all);
    return rate;
  };
  one.raw = [&] { return consumers(1); };
  one.semel = [&] { return consumers(2); };
  report_.run(one, sizes_.rounds);
}

// A generation whose records are all past their ttl is forgotten, while another consumer goes on.
void ServerBench::purge() {
  const std::string name = "purge-seconds";
  if (!report_.wanted(name)) return;
  const auto place = make_place_(kRows);
  const auto store = place->open();
  // An eighth of it is one generation.
  const std::chrono::seconds ttl(options_.quick ? 16 : 80);
  constexpr int kGenerations = 8;
  ConsumerRun old =
      StoreBench::run_of({Work::kClaims, core::StrategyKind::kDedupTable, Keys::kOrdered});
  old.name = "old";
  old.ttl = ttl;
  old.seconds = static_cast<double>(ttl.count()) / kGenerations + 1;
  const std::size_t most = options_.quick ? 300'000 : 2'000'000;
  Tally loaded;
  consume(*store, old, stores_.messages(most, Keys::kOrdered), &loaded);
  // It is sealed by a purge; from then on its time runs.
  if (const auto sealed = store->purge(std::chrono::seconds(1)); !sealed) {
    give_up(sealed.error().message);
  }
  std::this_thread::sleep_for(ttl + std::chrono::seconds(1));

  const auto fresh = stores_.messages(most, Keys::kOrdered);
  ConsumerRun other = StoreBench::run_of(kEffects);
  other.seconds = 3;
  double alone = 0, beside = 0;
  alone = consume(*store, other, fresh);
  const auto more = stores_.messages(most, Keys::kOrdered);
  const auto twin = place->open();
  std::thread claims([&] { beside = consume(*twin, other, more); });
  const Stopwatch watch;
  std::size_t forgotten = 0;
  double longest = 0;
  while (watch.seconds() < 2 * other.seconds && forgotten < loaded.acked / 2) {
    const Stopwatch once;
    const auto report = store->purge(std::chrono::seconds(1));
    if (!report) give_up(report.error().message);
    forgotten += report->records;
    if (report->records > 0) longest += once.seconds();
    if (report->records == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  claims.join();
  report_.add(
      name, kBatch, std::nullopt, longest, std::nullopt,
      fmt::format("s to forget {} of {} records; claims + UPDATE {:.0f}/s alone, {:.0f}/s beside",
                  forgotten, loaded.acked, alone, beside));
}

}  // namespace semel::bench
