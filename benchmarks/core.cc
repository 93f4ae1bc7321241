// The cost of engine, strategy and memory store for a message, on one core.
#include <openssl/sha.h>
#include <sched.h>
#include <simdjson.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <semel/memory.h>
#include <semel/metrics.h>

#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/report.h"
#include "benchmarks/slow_service.h"
#include "benchmarks/workload.h"
#include "telemetry/delivery_metrics.h"

namespace semel::bench {
namespace {

struct IdHash {
  std::size_t operator()(const std::array<unsigned char, 16>& id) const noexcept {
    std::size_t hash = 0;
    std::memcpy(&hash, id.data() + 8, sizeof hash);
    return hash;
  }
};

// The key from the JSON, a digest of what was said, a look into a hash map.
class PlainRecords {
 public:
  std::size_t size() const { return records_.size(); }
  void put(const std::string& payload) {
    padded_.assign(payload);
    padded_.reserve(payload.size() + simdjson::SIMDJSON_PADDING);
    auto document = parser_.iterate(padded_);
    const std::string_view key = document["id"].get_string().value();
    const Id id = id_of(key);
    std::array<unsigned char, 16> place;
    std::memcpy(place.data(), id.bytes, sizeof id.bytes);
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256(reinterpret_cast<const unsigned char*>(payload.data()), payload.size(), digest);
    Record record{};
    std::memcpy(record.fingerprint.data(), digest, record.fingerprint.size());
    record.completed_at = std::chrono::system_clock::now().time_since_epoch().count();
    records_.emplace(place, record);
  }

 private:
  struct Record {
    std::array<unsigned char, 16> fingerprint;
    std::int64_t completed_at;
  };
  std::unordered_map<std::array<unsigned char, 16>, Record, IdHash> records_;
  simdjson::ondemand::parser parser_;
  std::string padded_;
};

void check_handled(std::size_t handled, std::size_t messages) {
  check_count(handled, messages, "messages were handled");
}

double plain_loop(const std::vector<std::string>& payloads) {
  PlainRecords records;
  const ProcessorWatch watch;
  for (const std::string& payload : payloads) records.put(payload);
  const double rate = static_cast<double>(payloads.size()) / watch.seconds();
  check_handled(records.size(), payloads.size());
  return rate;
}

double with_semel(const std::vector<std::string>& payloads, std::size_t batch,
                  Observer* observer = nullptr) {
  auto store = make_memory_store({payloads.size() + 1, nullptr});
  ConsumerRun run;
  run.strategy = core::StrategyKind::kStateMachine;
  run.set_idle_handler(false);
  run.batch = batch;
  run.observer = observer;
  const ProcessorWatch watch;
  consume(*store, run, payloads);
  return static_cast<double>(payloads.size()) / watch.seconds();
}

// One thread that keeps as many calls open as it may, and then records those that have ended.
void calls_by_hand(SlowService& service, const std::vector<std::string>& payloads,
                   std::size_t most_open) {
  std::mutex mutex;
  std::condition_variable some_ended;
  std::vector<std::size_t> ended, taken;
  PlainRecords records;
  std::size_t next = 0, open = 0;
  while (next < payloads.size() || open > 0) {
    open -= taken.size();
    for (; open < most_open && next < payloads.size(); ++open, ++next) {
      service.call({}, Completion([&, at = next](std::optional<Verdict>) {
                     const std::scoped_lock lock(mutex);
                     ended.push_back(at);
                     if (ended.size() == 1) some_ended.notify_one();
                   }));
    }
    for (const std::size_t at : taken) records.put(payloads[at]);
    taken.clear();
    std::unique_lock lock(mutex);
    if (open > 0) some_ended.wait(lock, [&] { return !ended.empty(); });
    taken.swap(ended);
  }
  check_handled(records.size(), payloads.size());
}

// Hundreds of calls of a slow service in flight: how much of the time each place is taken.
void calls_in_flight(Report& report, const Options& options) {
  constexpr std::size_t kInFlight = 500;
  constexpr std::chrono::milliseconds kLongest{5};
  if (!report.wanted("calls-500")) return;
  set_running("calls-500");
  const auto payloads = make_payloads(options.pick(3'000, 200'000, 600'000), Keys::kRandom, 2);
  const auto count = static_cast<double>(payloads.size());
  const auto add = [&](const char* name, const SlowService& service, double seconds, bool by_hand) {
    const double rate = count / seconds;
    const double late = service.late_seconds();
    report.add(name, kInFlight, by_hand ? std::optional(rate) : std::nullopt,
               by_hand ? std::nullopt : std::optional(rate),
               service.asked_seconds() / (seconds * kInFlight - late),
               fmt::format("calls of 0-5 ms; of raw: the share of the time that each of 500 places "
                           "is taken, without {:.2f} ms a call that the service itself is late",
                           1'000 * late / count));
  };
  {
    SlowService service(kLongest);
    const Stopwatch watch;
    calls_by_hand(service, payloads, kInFlight);
    add("calls-500-by-hand", service, watch.seconds(), true);
  }
  auto store = make_memory_store({payloads.size() + 1, nullptr});
  SlowService service(kLongest);
  ConsumerRun run;
  run.strategy = core::StrategyKind::kStateMachine;
  run.handler = service.handler();
  run.most_running = kInFlight;
  const Stopwatch watch;
  consume(*store, run, payloads);
  check_handled(service.answered(), payloads.size());
  add("calls-500", service, watch.seconds(), false);
}

// Handlers that take 0-5 ms of their thread's time: how much of it each thread spends in them.
void busy_threads(Report& report, const Options& options) {
  constexpr std::size_t kThreads = 16;
  if (!report.wanted("threads-16")) return;
  set_running("threads-16");
  const auto payloads = make_payloads(options.pick(500, 20'000, 60'000), Keys::kRandom, 4);
  auto store = make_memory_store({payloads.size() + 1, nullptr});
  std::atomic<std::int64_t> busy{0};  // nanoseconds
  std::atomic<std::size_t> calls{0};
  ConsumerRun run;
  run.strategy = core::StrategyKind::kStateMachine;
  run.workers = static_cast<int>(kThreads);
  run.handler = PlainHandler([&busy, &calls](const Message&, const Attempt&) {
    thread_local std::minstd_rand random(std::random_device{}());
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5'001));
    ++calls;
    busy += (std::chrono::steady_clock::now() - began).count();
    return done();
  });
  const Stopwatch watch;
  const double rate = consume(*store, run, payloads);
  check_handled(calls, payloads.size());
  const double share = static_cast<double>(busy.load()) * 1e-9 / (watch.seconds() * kThreads);
  report.add("threads-16", kThreads, std::nullopt, rate, share,
             "handlers of 0-5 ms; of raw: the share of the time that each of 16 threads is in one");
}

// How long deliveries took that are not of the slow key.
class Latencies final : public Observer {
 public:
  explicit Latencies(std::string but) : but_(std::move(but)) {}
  void on_ended(std::string_view, const Delivery& delivery, const Outcome&,
                std::chrono::nanoseconds took) noexcept override {
    if (delivery.message.ordering_key() == but_) return;
    const std::scoped_lock lock(mutex_);
    seconds_.push_back(std::chrono::duration<double>(took).count());
  }
  std::size_t count() const { return seconds_.size(); }
  // The times, for when all have ended.
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  const std::string but_;
  std::mutex mutex_;
  std::vector<double> seconds_;
};

// A thousand ordering keys, and one of them slow or not: what it means for all others.
double others_p99(const std::vector<std::string>& payloads, bool slow) {
  const std::string slow_key = "7";
  auto store = make_memory_store({payloads.size() + 1, nullptr});
  SlowService service(std::chrono::milliseconds(2));
  if (slow) service.slow_down(slow_key, std::chrono::milliseconds(10));
  Latencies latencies(slow_key);
  ConsumerRun run;
  run.strategy = core::StrategyKind::kStateMachine;
  run.handler = service.handler();
  run.most_running = 64;
  run.order.emplace().key = core::KeyPart::parse("json:/account").value();
  run.observer = &latencies;
  consume(*store, run, payloads);
  const std::string its = fmt::format("\"account\":{},", slow_key);
  check_handled(latencies.count(), static_cast<std::size_t>(std::ranges::count_if(
                                       payloads, [&](const std::string& payload) {
                                         return payload.find(its) == std::string::npos;
                                       })));
  return p99(latencies.seconds());
}

void slow_key(Report& report, const Options& options) {
  if (!report.wanted("slow-key")) return;
  const auto payloads = make_payloads(options.pick(5'000, 100'000, 300'000), Keys::kRandom, 3);
  Case slow;
  slow.name = "slow-key";
  slow.batch = 64;
  slow.raw = [&] { return 1 / others_p99(payloads, false); };
  slow.semel = [&] { return 1 / others_p99(payloads, true); };
  slow.what = "1/p99 of 999 keys; raw: none is slow, semel: one takes 10 ms instead of 0-2";
  report.run(slow, options.pick(1, 3, 3));
}

void metrics_cost(Report& report, const Options& options,
                  const std::vector<std::string>& payloads) {
  constexpr std::size_t kBatch = 100;
  Case metrics;
  metrics.name = "metrics";
  metrics.batch = kBatch;
  metrics.raw = [&] { return with_semel(payloads, kBatch); };
  metrics.semel = [&] {
    MetricsObserver observer;
    const double rate = with_semel(payloads, kBatch, &observer);
    check_handled(telemetry::deliveries_of(observer).of("bench").totals().effects, payloads.size());
    return rate;
  };
  metrics.what = "engine-memory with a MetricsObserver; raw: without";
  report.run(metrics, options.pick(1, 7, 9));
}

void run_core(const Options& options) {
  cpu_set_t all;
  ::sched_getaffinity(0, sizeof all, &all);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ::sched_setaffinity(0, sizeof one, &one);

  Report report(options);
  report.header(
      {fmt::format("engine + state_machine + memory store, all threads on one core; {} "
                   "byte messages; raw: JSON, SHA-256, hash map in a plain loop",
                   kPayload)});
  const auto payloads = make_payloads(options.pick(3'000, 300'000, 1'000'000), Keys::kRandom, 1);
  for (const std::size_t batch : {std::size_t{100}, std::size_t{256}, std::size_t{1}}) {
    Case engine;
    engine.name = "engine-memory";
    engine.batch = batch;
    engine.raw = [&] { return plain_loop(payloads); };
    engine.semel = [&] { return with_semel(payloads, batch); };
    engine.what = "no-op handler";
    report.run(engine, options.pick(1, 3, 5));
  }
  metrics_cost(report, options, payloads);
  ::sched_setaffinity(0, sizeof all, &all);
  calls_in_flight(report, options);
  busy_threads(report, options);
  slow_key(report, options);
  report.finish();
}

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, semel::bench::run_core);
}
