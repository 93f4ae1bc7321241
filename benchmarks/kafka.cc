// Kafka: the source against librdkafka polled by hand, and a topic's way into PostgreSQL against
// what the store alone can do, in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <semel/version.h>

#include "benchmarks/by_hand.h"
#include "benchmarks/consumer.h"
#include "benchmarks/kafka_by_hand.h"
#include "benchmarks/measure.h"
#include "benchmarks/report.h"
#include "benchmarks/server_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/timed_source.h"
#include "benchmarks/workload.h"
#include "sources/kafka/make_kafka_source.h"
#include "tests/support/kafka_server.h"

namespace semel::bench {
namespace {

using core::StrategyKind;

constexpr int kPartitions = 6;
constexpr std::size_t kOrderingKeys = 1'000;

std::unique_ptr<Source> open_source(const Topic& topic) {
  core::KafkaSpec spec;
  spec.brokers = topic.brokers;
  spec.group = new_group();
  spec.topics = {topic.name};
  auto source = kafka::make_kafka_source(spec);
  if (!source) give_up(source.error().message);
  return *std::move(source);
}

// How long the others' deliveries take while one key fails; and it fails until they are done.
class Others final : public Observer {
 public:
  Others(std::string failing, std::size_t others) : failing_(std::move(failing)), left_(others) {}

  void on_ended(std::string_view, const Delivery& delivery, const Outcome&,
                std::chrono::nanoseconds took) noexcept override {
    if (delivery.message.ordering_key() == failing_) return;
    const std::scoped_lock lock(mutex_);
    seconds_.push_back(std::chrono::duration<double>(took).count());
    --left_;
  }
  bool fails(const Message& message) {
    const bool now = message.ordering_key() == failing_ && left_.load() > 0;
    if (now) ++failures_;
    return now;
  }
  std::size_t left() const { return left_.load(); }
  std::size_t failures() const { return failures_.load(); }
  // The times, for when all have ended.
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  const std::string failing_;
  std::atomic<std::size_t> left_;
  std::atomic<std::size_t> failures_{0};
  std::mutex mutex_;
  std::vector<double> seconds_;
};

class KafkaBench {
 public:
  explicit KafkaBench(const Options& options)
      : report_(options),
        smoke_(options.smoke()),
        rounds_(options.pick(1, 3, 5)),
        many_(options.pick(1'000, 200'000, 1'000'000)),
        few_(options.pick(20, 1'000, 5'000)),
        stored_(options.pick(1'000, 30'000, 300'000)) {}

  void run(const Options& options) {
    report_.header({fmt::format(
        "Semel {}; Apache Kafka, one broker, {} partitions, {} byte messages, {} rounds of {} "
        "(into PostgreSQL: {}, naive: {})",
        version(), kPartitions, kPayload, rounds_, many_, stored_, few_)});
    sources("source", kPartitions);
    sources("one-partition", 1);
    const test::PostgresServer server(postgres_options(options));
    inbox(server);
    failing_key(server);
    report_.finish();
  }

 private:
  Topic topic_of(const std::vector<std::string>& payloads, int partitions = kPartitions) {
    const std::string name = broker_.new_topic(partitions);
    broker_.produce_values(name, payloads);
    return {broker_.brokers(), name, payloads.size()};
  }

  // The records read from one partition are in one queue, which is full sooner than six.
  void sources(const std::string& name, int partitions) {
    if (!report_.wanted(name) && !report_.wanted(name + "-engine")) return;
    const Topic topic = topic_of(make_payloads(many_, Keys::kOrdered, 1), partitions);
    Case one;
    one.name = name;
    one.batch = kBatch;
    one.what = "the source alone; raw: librdkafka polled by hand; goal 0.7";
    one.raw = [&] { return poll_by_hand(topic); };
    one.semel = [&] { return source_alone(open_source(topic), topic.messages); };
    report_.run(one, rounds_);
    one.name = name + "-engine";
    one.what = "through the engine, strategy natural";
    one.semel = [&] { return through_engine(open_source(topic), topic.messages); };
    report_.run(one, rounds_);
  }

  void inbox(const test::PostgresServer& server) {
    if (!report_.wanted("inbox-effects")) return;
    const Setting setting{Work::kInbox, StrategyKind::kInbox, Keys::kOrdered};
    const auto payloads = make_payloads(stored_, Keys::kOrdered, 2, kRows);
    const Topic topic = topic_of(payloads);
    Case one;
    one.name = "inbox-effects";
    one.batch = kBatch;
    one.what =
        "inbox + UPDATE; raw: the same from memory, goal 0.8; naive: a transaction and a commit "
        "each, goal 10";
    one.raw = [&] {
      const auto place = make_postgres_place(server, kRows);
      const double rate = consume(*place->open(), StoreBench::run_of(setting), payloads);
      StoreBench::check_sum(*place, payloads);
      return rate;
    };
    one.naive = [&] {
      const auto place = make_postgres_place(server, kRows);
      const auto hand = place->by_hand(Work::kEffects);
      std::vector<std::string> handled;
      const double rate = poll_naively(topic, few_, [&](const std::string& payload) {
        hand->consume({payload}, 1);
        handled.push_back(payload);
      });
      StoreBench::check_sum(*place, handled);
      return rate;
    };
    one.semel = [&] {
      const auto place = make_postgres_place(server, kRows);
      const auto store = place->open();
      const ConsumerRun run = StoreBench::run_of(setting);
      const double rate = through_consumer(*store, run, open_source(topic), topic.messages);
      if (smoke_) redeliver(*store, run, payloads);
      StoreBench::check_sum(*place, payloads);
      return rate;
    };
    report_.run(one, rounds_);
  }

  static double others_p99(const test::PostgresServer& server, const Topic& topic,
                           const std::string& failing, std::size_t others) {
    const auto place = make_postgres_place(server, kRows);
    const auto store = place->open();
    Others watched(failing, others);
    ConsumerRun run;
    run.order.emplace().key = core::KeyPart::parse("json:/account").value();
    run.observer = &watched;
    run.handler = TransactionalHandler([&](const Message& message, Transaction&) {
      return watched.fails(message) ? retry("it fails for now") : done();
    });
    run.retry.emplace();
    run.retry->attempts = 0;
    run.retry->first = std::chrono::milliseconds(50);
    run.retry->longest = std::chrono::milliseconds(200);
    through_consumer(*store, run, open_source(topic), topic.messages);
    if (watched.left() > 0) give_up(fmt::format("{} messages did not end", watched.left()));
    if (others < topic.messages && watched.failures() == 0) give_up("no message has failed");
    return p99(watched.seconds());
  }

  void failing_key(const test::PostgresServer& server) {
    if (!report_.wanted("failing-key")) return;
    const auto payloads = make_payloads(stored_, Keys::kOrdered, 3, kOrderingKeys);
    const Topic topic = topic_of(payloads);
    const std::string failing = "7";
    const auto others = static_cast<std::size_t>(
        std::count_if(payloads.begin(), payloads.end(), [&](const std::string& payload) {
          return payload.find("\"account\":" + failing + ",") == std::string::npos;
        }));
    Case one;
    one.name = "failing-key";
    one.batch = kBatch;
    one.what = "1 / p99 of the other 999 ordering keys, one failing; raw: none failing";
    one.raw = [&] { return 1 / others_p99(server, topic, "none", payloads.size()); };
    one.semel = [&] { return 1 / others_p99(server, topic, failing, others); };
    report_.run(one, rounds_);
  }

  Report report_;
  const bool smoke_;
  const std::size_t rounds_;
  const std::size_t many_;
  const std::size_t few_;
  const std::size_t stored_;
  const test::KafkaServer broker_;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::KafkaBench(options).run(options);
  });
}
