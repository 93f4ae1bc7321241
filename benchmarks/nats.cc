// NATS: the source against cnats by hand, and a stream's way into SQLite against what the store
// alone can do, in the same run.
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
#include "benchmarks/nats_by_hand.h"
#include "benchmarks/report.h"
#include "benchmarks/sqlite_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/timed_source.h"
#include "benchmarks/workload.h"
#include "sources/nats/make_nats_source.h"
#include "tests/support/nats_server.h"

namespace semel::bench {
namespace {

class NatsBench {
 public:
  explicit NatsBench(const Options& options)
      : options_(options),
        report_(options),
        rounds_(options.pick(1, 3, 5)),
        many_(options.pick(1'000, 50'000, 300'000)),
        few_(options.pick(20, 1'000, 5'000)),
        stored_(options.pick(500, 20'000, 100'000)) {}

  void run() {
    report_.header(
        {fmt::format("Semel {}; NATS JetStream, one server, prefetch {}, {} byte messages, {} "
                     "rounds of {} (into "
                     "a store: {}, naive: {})",
                     version(), kAskedFor, kPayload, rounds_, many_, stored_, few_)});
    sources();
    into_sqlite();
    report_.finish();
  }

 private:
  // A stream of its own for each side of a round: what is acknowledged comes no more.
  double with_stream(const std::vector<std::string>& payloads,
                     const std::function<double(const Stream&)>& side) const {
    constexpr std::size_t kAtOnce = 4'000;
    constexpr const char* kDurable = "bench";
    const Stream stream{server_.port(), server_.new_stream(), kDurable, payloads.size()};
    server_.make_consumer(stream.name, kDurable);
    for (std::size_t done = 0; done < payloads.size(); done += kAtOnce) {
      const auto first = payloads.begin() + static_cast<std::ptrdiff_t>(done);
      const auto count = std::min(kAtOnce, payloads.size() - done);
      server_.publish_bodies(stream.name, {first, first + static_cast<std::ptrdiff_t>(count)});
    }
    const double rate = side(stream);
    if (!server_.counts(stream.name, kDurable).all_done()) give_up("messages are left");
    server_.delete_stream(stream.name);
    return rate;
  }

  std::unique_ptr<Source> open_source(const Stream& stream) const {
    nats::NatsOptions options;
    options.spec.address = core::read_nats_url(server_.url()).value();
    options.spec.stream = stream.name;
    options.spec.durable = stream.durable;
    options.spec.prefetch = kAskedFor;
    options.follow = false;
    return nats::make_nats_source(std::move(options));
  }

  void sources() {
    const auto payloads = make_payloads(many_, Keys::kOrdered, 1);
    Case one;
    one.batch = kBatch;
    one.raw = [&] { return with_stream(payloads, pull_by_hand); };
    one.name = "source";
    one.what = "the source alone; raw: cnats by hand; goal 0.7";
    one.semel = [&] {
      return with_stream(payloads, [&](const Stream& stream) {
        return source_alone(open_source(stream), stream.messages);
      });
    };
    report_.run(one, rounds_);
    one.name = "source-engine";
    one.what = "through the engine, strategy natural";
    one.semel = [&] {
      return with_stream(payloads, [&](const Stream& stream) {
        return through_engine(open_source(stream), stream.messages);
      });
    };
    report_.run(one, rounds_);
  }

  void into_sqlite() {
    if (!report_.wanted("sqlite")) return;
    const auto make_place = [this] {
      return make_sqlite_place(fmt::format("{}/{}.db", options_.folder, ++files_));
    };
    const Setting setting{};
    const auto payloads = make_payloads(stored_, Keys::kOrdered, 2, kHotRows);
    const auto first = make_payloads(few_, Keys::kOrdered, 3, kHotRows);
    Case one;
    one.name = "sqlite";
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
      const double rate = with_stream(first, [&](const Stream& stream) {
        return pull_naively(stream, [&](const std::string& body) { hand->consume({body}, 1); });
      });
      StoreBench::check_sum(*place, first);
      return rate;
    };
    one.semel = [&] {
      const auto place = make_place();
      const double rate = with_stream(payloads, [&](const Stream& stream) {
        const auto store = place->open();
        const ConsumerRun run = StoreBench::run_of(setting);
        return through_consumer(*store, run, open_source(stream), stream.messages);
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
  const test::NatsServer server_;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::NatsBench(options).run();
  });
}
