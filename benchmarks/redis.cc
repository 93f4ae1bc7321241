// Redis: claims and completions against what is written by hand, in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/redis.h>
#include <semel/version.h>

#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/redis_by_hand.h"
#include "benchmarks/report.h"
#include "benchmarks/workload.h"
#include "core/pace.h"
#include "stores/redis/names.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"

namespace semel::bench {
namespace {

RedisPlace place_of(const test::RedisServer& server) {
  return {fmt::format("redis+unix://{}?db=0", server.socket()), {{server.socket(), 0}}, {}};
}

RedisPlace place_of(const test::RedisCluster& cluster) {
  RedisPlace place{cluster.url(), {}, {}};
  const std::vector<int> masters = cluster.masters();
  for (const int port : masters) place.nodes.push_back({{}, port});
  for (unsigned slot = 0; slot < redis::kSlots; ++slot) {
    const std::string tag(redis::tag_of(slot));
    const int master = cluster.master_of("{" + tag + "}");
    const auto found = std::ranges::find(masters, master);
    if (found == masters.end()) give_up("a slot of the Cluster is no master's");
    place.tags.push_back({tag, static_cast<std::size_t>(found - masters.begin())});
  }
  return place;
}

std::unique_ptr<Store> open_at(const RedisPlace& place) {
  RedisOptions options;
  options.url = place.url;
  auto store = open_redis(std::move(options));
  if (!store) give_up(store.error().message);
  return std::move(*store);
}

class RedisBench {
 public:
  explicit RedisBench(const Options& options)
      : report_(options),
        smoke_(options.smoke()),
        rounds_(options.pick(1, 3, 5)),
        many_(options.pick(400, 50'000, 500'000)),
        few_(options.pick(10, 3'000, 20'000)),
        waiting_(options.pick(300, 10'000, 100'000)) {}

  void run() {
    report_.header({fmt::format(
        "Semel {}; Redis, appendonly yes, a server by its unix socket, a Cluster of 3 "
        "masters with a replica each by TCP; {} byte messages, {} rounds of {} (naive: "
        "{})",
        version(), kPayload, rounds_, many_, few_)});
    std::optional<test::RedisServer> server;
    for (const char* sync : kSyncs) {
      if (!server || !smoke_) server.emplace(test::RedisServer::Options{log_arguments(sync)});
      measure(place_of(*server), sync);
      if (sync == kSyncs.front()) bytes(place_of(*server));
    }
    server.reset();
    std::optional<test::RedisCluster> cluster;
    for (const char* sync : kSyncs) {
      if (!cluster || !smoke_) {
        cluster.emplace(test::RedisCluster::kCalmTimeoutMs, log_arguments(sync));
      }
      measure(place_of(*cluster), fmt::format("cluster-{}", sync));
    }
    report_.finish();
  }

 private:
  // Whenever the log grows, the server would write it anew beside what is measured.
  static constexpr const char* kNoRewrite = "--auto-aof-rewrite-percentage";
  // Under everysec a server writes its log to the disk so long after it was changed.
  static constexpr std::chrono::milliseconds kLogPatience{1'500};
  static constexpr std::array<const char*, 2> kSyncs = {"everysec", "always"};

  // For smoke one server serves the cases of both, and waits for no disk.
  std::vector<std::string> log_arguments(const char* sync) const {
    return {"--appendonly", "yes", "--appendfsync", smoke_ ? "no" : sync, kNoRewrite, "0"};
  }

  void measure(const RedisPlace& place, const std::string& where) {
    for (const std::size_t connections : {1U, 4U}) two_phase(place, where, connections);
    latency(place, where);
    scripts_of_single(place, where);
    queue_order_backlog(place, where);
  }

  void begin_side(const RedisPlace& place) const {
    forget_all(place);
    if (!smoke_) std::this_thread::sleep_for(kLogPatience);
  }

  std::vector<std::string> messages(std::size_t count) {
    return make_payloads(count, Keys::kRandom, ++seed_);
  }

  double by_hand(const RedisPlace& place, Style style, std::size_t connections, std::size_t count) {
    begin_side(place);
    std::vector<std::vector<std::string>> parts;
    std::vector<std::unique_ptr<RedisByHand>> hands;
    for (std::size_t i = 0; i < connections; ++i) {
      parts.push_back(messages(count / connections));
      hands.push_back(make_redis_by_hand(place, style));
    }
    const Stopwatch watch;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < connections; ++i) {
      threads.emplace_back([&, i] { hands[i]->handle(parts[i], kBatch); });
    }
    for (std::thread& thread : threads) thread.join();
    return static_cast<double>(count) / watch.seconds();
  }

  static ConsumerRun plain_run() {
    ConsumerRun run;
    run.strategy = core::StrategyKind::kStateMachine;
    run.set_idle_handler(false);
    run.batch = kBatch;
    return run;
  }

  double with_semel(const RedisPlace& place, std::size_t connections) {
    begin_side(place);
    const auto store = open_at(place);
    ConsumerRun run = plain_run();
    run.workers = static_cast<int>(connections);
    const auto payloads = messages(many_);
    const double rate = consume(*store, run, payloads);
    if (smoke_) redeliver(*store, run, payloads);
    return rate;
  }

  void two_phase(const RedisPlace& place, const std::string& where, std::size_t connections) {
    Case one;
    one.name = fmt::format("two-phase-{}-{}", where, connections);
    one.batch = kBatch;
    one.what =
        fmt::format("claim, then completion; connections: {}; naive: SET NX alone", connections);
    one.raw = [&] { return by_hand(place, Style::kScripts, connections, many_); };
    one.naive = [&] { return by_hand(place, Style::kSetNx, connections, few_); };
    one.semel = [&] { return with_semel(place, connections); };
    report_.run(one, rounds_);
    one.name = fmt::format("machine-{}-{}", where, connections);
    one.what = fmt::format("the same; naive: GET, SET NX, SET; connections: {}", connections);
    one.naive = [&] { return by_hand(place, Style::kMachine, connections, few_); };
    report_.run(one, rounds_);
  }

  // One message at a time; yields the seconds that each took.
  std::vector<double> singles_by_hand(const RedisPlace& place) {
    begin_side(place);
    const auto hand = make_redis_by_hand(place, Style::kScripts);
    std::vector<double> all;
    for (const std::string& payload : messages(few_)) {
      const Stopwatch watch;
      hand->handle({payload}, 1);
      all.push_back(watch.seconds());
    }
    return all;
  }
  std::vector<double> singles_with_semel(const RedisPlace& place) {
    begin_side(place);
    const auto store = open_at(place);
    ConsumerRun run = plain_run();
    run.at_a_time = 1;
    Tally tally;
    consume(*store, run, messages(few_), &tally);
    return std::move(tally.latencies);
  }

  void latency(const RedisPlace& place, const std::string& where) {
    Case one;
    one.name = "latency-single-" + where;
    one.batch = 1;
    one.what = "1 / p50 of one message at a time; raw: a claim and a completion by scripts";
    one.raw = [&] { return 1 / median(singles_by_hand(place)); };
    one.semel = [&] { return 1 / median(singles_with_semel(place)); };
    report_.run(one, rounds_);
  }

  // The part of a message's time that the server's scripts take, and no consumer can change.
  void scripts_of_single(const RedisPlace& place, const std::string& where) {
    const std::string name = "scripts-single-" + where;
    if (!report_.wanted(name)) return;
    set_running(name);
    const auto each = [&](const auto& side) {
      const double before = script_microseconds_of(place);
      (void)side();  // the seconds are another case's
      return (script_microseconds_of(place) - before) / static_cast<double>(few_);
    };
    std::vector<double> raw_times, semel_times;
    for (std::size_t round = 0; round < rounds_; ++round) {
      raw_times.push_back(each([&] { return singles_by_hand(place); }));
      semel_times.push_back(each([&] { return singles_with_semel(place); }));
    }
    const double raw = median(raw_times), semel = median(semel_times);
    report_.add(name, 1, raw, semel, raw / semel,
                "microseconds of a message in the server's scripts, one at a time");
  }

  // A queue with few ordering keys, against the same queue without an order.
  void queue_order_backlog(const RedisPlace& place, const std::string& where) {
    constexpr std::size_t kOrderingKeys = 10;
    const auto handled = [&](const std::optional<core::Order>& order) {
      begin_side(place);
      const auto store = open_at(place);
      ConsumerRun run = plain_run();
      run.order = order;
      run.workers = core::kUsualWorkers;
      const auto payloads = make_payloads(waiting_, Keys::kRandom, ++seed_, kOrderingKeys);
      return consume_queue(*store, run, payloads);
    };
    Case one;
    one.name = "queue-order-backlog-" + where;
    one.batch = kBatch;
    one.what = fmt::format("{} wait in the queue with {} ordering keys; raw: without an order",
                           waiting_, kOrderingKeys);
    one.raw = [&] { return handled(std::nullopt); };
    one.semel = [&] { return handled(core::Order{core::KeyPart::parse("json:/account").value()}); };
    report_.run(one, rounds_);
  }

  // The growth of the server's memory, for each record that is completed.
  void bytes(const RedisPlace& place) {
    const std::string name = "bytes-per-record";
    if (!report_.wanted(name)) return;
    set_running(name);
    begin_side(place);
    const auto store = open_at(place);
    consume(*store, plain_run(), messages(few_));
    const long long before = memory_of(place);
    consume(*store, plain_run(), messages(many_));
    const long long after = memory_of(place);
    report_.add(name, kBatch, std::nullopt,
                static_cast<double>(after - before) / static_cast<double>(many_), std::nullopt,
                fmt::format("bytes of the server's memory, keys of 36 bytes, {} records", many_));
  }

  Report report_;
  const bool smoke_;
  const std::size_t rounds_;
  const std::size_t many_;
  const std::size_t few_;
  const std::size_t waiting_;
  std::uint64_t seed_ = 0;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::RedisBench(options).run();
  });
}
