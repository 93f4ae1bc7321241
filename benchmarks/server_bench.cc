#include "benchmarks/server_bench.h"

#include <fmt/format.h>

#include <thread>
#include <utility>
#include <vector>

#include <semel/version.h>

#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/workload.h"
#include "core/pace.h"

namespace semel::bench {
namespace {

using namespace std::chrono_literals;

constexpr Setting kEffects{};
constexpr double kLongestCase = 60;  // seconds

double seconds_of(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

ServerBench::ServerBench(const Options& options, MakePlace make_place)
    : options_(options),
      rows_(options.pick<std::size_t>(1'000, 10'000, 10'000)),
      make_place_(std::move(make_place)),
      report_(options),
      sizes_{.rounds = options.pick<std::size_t>(1, 3, 5),
             .many = options.pick<std::size_t>(300, 20'000, 200'000),
             .few = options.pick<std::size_t>(10, 1'500, 10'000),
             .hot_rows = rows_,
             .redeliver = options.smoke()},
      stores_(report_, sizes_, [this] { return make_place_(rows_); }) {}

void ServerBench::run(const std::string& server) {
  report_.header(
      {server,
       fmt::format(
           "Semel {}; unix socket, {} byte messages, {} hot rows, {} rounds of {} (naive: {})",
           version(), kPayload, rows_, sizes_.rounds, sizes_.many, sizes_.few)});
  stores_.fresh();
  constexpr std::size_t kEight = 8;
  stores_.naive_on(kEight);
  stores_.latency();
  stores_.queue_order_backlog(options_.pick<std::size_t>(300, 10'000, 100'000), kEight);
  stores_.after_kill(options_.pick<std::size_t>(50, 1'000, 1'000),
                     options_.pick<std::size_t>(200, 20'000, 40'000));
  for (const std::size_t rows : {10U, 100U, 1'000U, 10'000U}) hot_rows(rows);
  for (const std::size_t rows : {10U, 100U, 1'000U}) transfers(rows);
  const std::size_t there =
      options_.preload.value_or(options_.pick<std::size_t>(1'000, 200'000, 10'000'000));
  stores_.preloaded("preloaded-ordered", there, Keys::kOrdered);
  stores_.preloaded("preloaded-random", there, Keys::kRandom);
  purge();
  report_.finish();
}

double ServerBench::together(const std::vector<ConsumerRun>& runs, std::size_t rows,
                             const MakePayloads& make) {
  const auto place = make_place_(rows);
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<std::vector<std::string>> parts;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    stores.push_back(place->open());
    parts.push_back(make(sizes_.many / runs.size()));
    all.insert(all.end(), parts.back().begin(), parts.back().end());
  }
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    threads.emplace_back([&, i] { consume(*stores[i], runs[i], parts[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  const double rate = static_cast<double>(all.size()) / watch.seconds();
  stores.clear();
  StoreBench::check_sum(*place, all);
  return rate;
}

// Two consumers at once whose messages change the same rows.
void ServerBench::hot_rows(std::size_t rows) {
  Case one;
  one.name = fmt::format("hot-rows-{}", rows);
  one.batch = kBatch;
  one.what = "claim + UPDATE; raw: one consumer, semel: two on the same rows";
  std::uint64_t seed = 1'000 * rows;
  const auto consumers = [&](std::size_t count) {
    std::vector<ConsumerRun> runs(count, StoreBench::run_of(kEffects));
    for (std::size_t i = 0; i < count; ++i) runs[i].name = fmt::format("bench{}", i);
    return together(runs, rows, [&](std::size_t part) {
      return make_payloads(part, Keys::kOrdered, ++seed, rows);
    });
  };
  one.raw = [&] { return consumers(1); };
  one.semel = [&] { return consumers(2); };
  report_.run(one, sizes_.rounds);
}

// Messages that each lock two of the same rows: one worker alone against the usual number of them,
// in one process and in two.
void ServerBench::transfers(std::size_t rows) {
  std::uint64_t seed = 2'000 * rows;
  const auto processes = [&](std::size_t count, int workers) {
    ConsumerRun run = StoreBench::run_of(kEffects);
    run.handler = transfer_handler();
    run.workers = workers;
    return together(std::vector<ConsumerRun>(count, run), rows,
                    [&](std::size_t part) { return make_transfers(part, ++seed, rows); });
  };
  for (const std::size_t count : {1U, 2U}) {
    Case one;
    one.name = fmt::format("transfers-{}{}", rows, count == 1 ? "" : "-two");
    one.batch = kBatch;
    one.what = fmt::format("claim + two UPDATEs; raw: one worker, semel: {} of {}",
                           count == 1 ? "a process" : "two processes", core::kUsualWorkers);
    one.raw = [&] { return processes(1, 0); };
    one.semel = [&] { return processes(count, core::kUsualWorkers); };
    report_.run(one, sizes_.rounds);
  }
}

// A generation whose records are all past their ttl is forgotten, while another consumer goes on.
void ServerBench::purge() {
  const std::string name = "purge-seconds";
  if (!report_.wanted(name)) return;
  set_running(name);
  const auto place = make_place_(rows_);
  const auto store = place->open();
  // An eighth of it is one generation.
  const auto ttl = options_.pick<std::chrono::milliseconds>(800ms, 16s, 80s);
  constexpr int kGenerations = 8;
  ConsumerRun old =
      StoreBench::run_of({Work::kClaims, core::StrategyKind::kDedupTable, Keys::kOrdered});
  old.name = "old";
  old.ttl = ttl;
  old.seconds = seconds_of(ttl) / kGenerations + options_.pick(0.1, 1.0, 1.0);
  const auto most = options_.pick<std::size_t>(20'000, 300'000, 2'000'000);
  Tally loaded;
  consume(*store, old, stores_.messages(most, Keys::kOrdered), &loaded);
  // It is sealed by a purge; from then on its time runs.
  const auto sealed = store->purge(std::chrono::seconds(1));
  if (!sealed) give_up(sealed.error().message);
  std::this_thread::sleep_for(ttl + ttl / kGenerations);

  auto fresh = stores_.messages(most, Keys::kOrdered);
  ConsumerRun other = StoreBench::run_of(kEffects);
  other.seconds = options_.pick(0.2, 3.0, 3.0);
  Tally first, second;
  double beside = 0;
  const double alone = consume(*store, other, fresh, &first);
  auto more = stores_.messages(most, Keys::kOrdered);
  const auto twin = place->open();
  std::thread claims([&] { beside = consume(*twin, other, more, &second); });
  const Stopwatch watch;
  std::size_t forgotten = sealed->records;
  double longest = 0;
  const std::size_t enough = options_.smoke() ? loaded.acked : loaded.acked / 2;
  while (forgotten < enough) {
    if (watch.seconds() > kLongestCase) {
      give_up(fmt::format("{} of {} records were forgotten", forgotten, loaded.acked));
    }
    const Stopwatch once;
    const auto report = store->purge(std::chrono::seconds(1));
    if (!report) give_up(report.error().message);
    forgotten += report->records;
    if (report->records > 0) longest += once.seconds();
    if (report->records == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  claims.join();
  fresh.resize(first.acked);
  more.resize(second.acked);
  StoreBench::check_sum(*place, more, sum_of_amounts(fresh));
  report_.add(
      name, kBatch, std::nullopt, longest, std::nullopt,
      fmt::format("s to forget {} of {} records; claims + UPDATE {:.0f}/s alone, {:.0f}/s beside",
                  forgotten, loaded.acked, alone, beside));
}

}  // namespace semel::bench
