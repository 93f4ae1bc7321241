// RabbitMQ: the source against librabbitmq by hand, and a queue's way into SQLite and PostgreSQL
// against what the store alone can do, in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <semel/version.h>

#include "benchmarks/by_hand.h"
#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/rabbitmq_by_hand.h"
#include "benchmarks/report.h"
#include "benchmarks/server_place.h"
#include "benchmarks/sqlite_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/timed_source.h"
#include "benchmarks/workload.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "tests/support/rabbitmq_server.h"

namespace semel::bench {
namespace {

test::RabbitmqServer::Options broker_options() {
  test::RabbitmqServer::Options options;
  options.queues_outlive_kill = false;  // None is killed.
  return options;
}

class RabbitmqBench {
 public:
  explicit RabbitmqBench(const Options& options)
      : options_(options),
        report_(options),
        rounds_(options.pick(1, 3, 5)),
        many_(options.pick(1'000, 50'000, 300'000)),
        few_(options.pick(20, 1'000, 5'000)),
        stored_(options.pick(500, 20'000, 100'000)) {}

  void run() {
    report_.header(
        {fmt::format("Semel {}; RabbitMQ, one node, prefetch {}, {} byte messages, {} rounds of {} "
                     "(into a store: {}, naive: {})",
                     version(), kPrefetch, kPayload, rounds_, many_, stored_, few_)});
    for (const char* type : {"quorum", "classic"}) sources(type);
    into("sqlite",
         [this] { return make_sqlite_place(fmt::format("{}/{}.db", options_.folder, ++files_)); });
    if (report_.wanted("quorum-postgres")) {
      const test::PostgresServer server(postgres_options(options_));
      into("postgres", [&] { return make_postgres_place(server, kRows); });
    }
    report_.finish();
  }

 private:
  // A queue of its own for each side of a round: what is acknowledged comes no more.
  Queue queue_of(const std::string& type, const std::vector<std::string>& payloads) const {
    constexpr std::size_t kAtOnce = 5'000;
    const std::string name = broker_.new_queue(type);
    for (std::size_t done = 0; done < payloads.size(); done += kAtOnce) {
      const auto first = payloads.begin() + static_cast<std::ptrdiff_t>(done);
      const auto count = std::min(kAtOnce, payloads.size() - done);
      broker_.publish_bodies(name, {first, first + static_cast<std::ptrdiff_t>(count)});
    }
    return {broker_.port(), name, payloads.size()};
  }
  double with_queue(const std::string& type, const std::vector<std::string>& payloads,
                    const std::function<double(const Queue&)>& side) const {
    const Queue queue = queue_of(type, payloads);
    const double rate = side(queue);
    if (const auto left = broker_.depth(queue.name); left != 0) {
      give_up(fmt::format("{} messages are left in the queue", left));
    }
    broker_.delete_queue(queue.name);
    return rate;
  }

  std::unique_ptr<Source> open_source(const Queue& queue) const {
    rabbitmq::RabbitmqOptions options;
    options.spec.address = core::read_amqp_url(broker_.url()).value();
    options.spec.queue = queue.name;
    options.spec.prefetch = kPrefetch;
    options.follow = false;
    return rabbitmq::make_rabbitmq_source(std::move(options));
  }

  void sources(const std::string& type) {
    const auto payloads = make_payloads(many_, Keys::kOrdered, 1);
    Case one;
    one.batch = kBatch;
    one.raw = [&] { return with_queue(type, payloads, consume_by_hand); };
    one.name = type + "-source";
    one.what = "the source alone; raw: librabbitmq by hand; goal 0.8";
    one.semel = [&] {
      return with_queue(type, payloads, [&](const Queue& queue) {
        return source_alone(open_source(queue), queue.messages);
      });
    };
    report_.run(one, rounds_);
    one.name = type + "-source-engine";
    one.what = "through the engine, strategy natural";
    one.semel = [&] {
      return with_queue(type, payloads, [&](const Queue& queue) {
        return through_engine(open_source(queue), queue.messages);
      });
    };
    report_.run(one, rounds_);
  }

  // From a quorum queue, as the usual strategy has it.
  void into(const std::string& store,
            const std::function<std::unique_ptr<SocketDirectory>()>& make_place) {
    const std::string name = "quorum-" + store;
    if (!report_.wanted(name)) return;
    const Setting setting{};
    const auto payloads = make_payloads(stored_, Keys::kOrdered, 2, kHotRows);
    const auto first = make_payloads(few_, Keys::kOrdered, 3, kHotRows);
    Case one;
    one.name = name;
    one.batch = kBatch;
    one.what = "claim + UPDATE; raw: the same from memory; naive: take one, a transaction, ack";
    one.raw = [&] {
      const auto place = make_place();
      const double rate = consume(*place->open(), StoreBench::run_of(setting), payloads);
      StoreBench::check_sum(*place, payloads);
      return rate;
    };
    one.naive = [&] {
      const auto place = make_place();
      const auto hand = place->by_hand(setting.work);
      const double rate = with_queue("quorum", first, [&](const Queue& queue) {
        return consume_naively(queue, [&](const std::string& body) { hand->consume({body}, 1); });
      });
      StoreBench::check_sum(*place, first);
      return rate;
    };
    one.semel = [&] {
      const auto place = make_place();
      const double rate = with_queue("quorum", payloads, [&](const Queue& queue) {
        const auto store = place->open();
        const ConsumerRun run = StoreBench::run_of(setting);
        const double taken = through_consumer(*store, run, open_source(queue), queue.messages);
        if (options_.smoke()) redeliver(*store, run, payloads);
        return taken;
      });
      StoreBench::check_sum(*place, payloads);
      return rate;
    };
    report_.run(one, rounds_);
  }

  const Options options_;
  Report report_;
  const std::size_t rounds_;
  const std::size_t many_;
  const std::size_t few_;
  const std::size_t stored_;
  std::size_t files_ = 0;
  const test::RabbitmqServer broker_{broker_options()};
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::RabbitmqBench(options).run();
  });
}
