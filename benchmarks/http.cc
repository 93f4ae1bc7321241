// HTTP: requests of a crowd of senders into SQLite against the same messages from memory into the
// same store, and against the same server and senders without a store, in the same run. The senders
// are a thread of this process: their work is in it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <semel/version.h>

#include "benchmarks/by_hand.h"
#include "benchmarks/consumer.h"
#include "benchmarks/http_load.h"
#include "benchmarks/measure.h"
#include "benchmarks/report.h"
#include "benchmarks/sqlite_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/workload.h"
#include "http_server/http_server.h"
#include "sources/http/source.h"

namespace semel::bench {
namespace {

using std::chrono::milliseconds;

// Requests have no end: this source has one, when so many of them are settled.
class EndingSource final : public Source {
 public:
  EndingSource(std::unique_ptr<Source> source, std::size_t messages)
      : source_(std::move(source)), messages_(messages) {}

  const SourceTraits& traits() const noexcept override { return source_->traits(); }
  Result<Received> receive(const ReceiveLimits& limits) override {
    auto received = source_->receive(limits);
    if (received) received->at_end = settled_ >= messages_;
    return received;
  }
  // Nothing wakes it when the last one is settled.
  Wakeup wakeup() override {
    constexpr milliseconds kLook{20};
    Wakeup wakeup = source_->wakeup();
    wakeup.due_in = std::min(wakeup.due_in.value_or(kLook), kLook);
    return wakeup;
  }
  void end_intake() noexcept override { source_->end_intake(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    settled_ += settlements.size();
    return source_->settle(settlements);
  }
  void ended(const Tag& tag, const Outcome& outcome) noexcept override {
    source_->ended(tag, outcome);
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    return source_->extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_->set_paused(partition, paused);
  }
  Result<void> close(milliseconds deadline) override { return source_->close(deadline); }

 private:
  const std::unique_ptr<Source> source_;
  const std::size_t messages_;
  std::atomic<std::size_t> settled_{0};
};

class HttpBench {
 public:
  explicit HttpBench(const Options& options)
      : options_(options),
        report_(options),
        rounds_(options.pick<std::size_t>(1, 3, 5)),
        messages_(options.pick<std::size_t>(1'000, 20'000, 100'000)) {}

  void run() {
    report_.header({fmt::format("Semel {}; {} connections, {} byte messages, {} rounds of {}",
                                version(), kConnections, kPayload, rounds_, messages_)});
    into_sqlite();
    of_the_server();
    report_.finish();
  }

 private:
  static constexpr std::size_t kConnections = 512;

  // The requests come from a thread of their own, the consumer runs on this one.
  static HttpLoad crowd(Store& store, const std::vector<std::string>& payloads) {
    core::HttpSourceSpec spec;
    spec.listen = {"127.0.0.1", 0};
    spec.max_body = 1 << 20;
    auto source = std::make_unique<sources::HttpSource>(spec, system_environment());
    if (const auto listens = source->listen(); !listens) give_up(listens.error().message);
    const std::uint16_t port = source->port();
    auto sent = std::async(std::launch::async,
                           [&, port] { return send_over_http(port, payloads, kConnections); });
    ConsumerRun run = StoreBench::run_of(Setting{});
    run.want_result = true;  // as the program has it for senders that wait
    consume_from(store, run, std::make_unique<EndingSource>(std::move(source), payloads.size()));
    return sent.get();
  }

  // The same server and the same senders, where every request is answered at once.
  static double server_alone(const std::vector<std::string>& payloads) {
    http::HttpServerOptions options;
    options.listen = {"127.0.0.1", 0};
    options.listen_queue = static_cast<int>(kConnections);
    options.most_connections = 2 * kConnections;
    auto server = http::HttpServer::open(
        std::move(options), [](const http::HttpRequest&) { return http::HttpResponse{}; });
    if (!server) give_up(server.error().message);
    const HttpLoad load = send_over_http((*server)->port(), payloads, kConnections);
    return static_cast<double>(payloads.size()) / load.seconds;
  }

  std::unique_ptr<SocketDirectory> make_place() {
    return make_sqlite_place(fmt::format("{}/{}.db", options_.folder, ++files_));
  }

  HttpLoad requests_into_sqlite(const std::vector<std::string>& payloads) {
    const auto place = make_place();
    auto store = place->open();
    HttpLoad load = crowd(*store, payloads);
    if (options_.smoke()) redeliver(*store, StoreBench::run_of(Setting{}), payloads);
    store.reset();
    StoreBench::check_sum(*place, payloads);
    return load;
  }

  void of_the_server() {
    const auto payloads = make_payloads(messages_, Keys::kOrdered, 2, kHotRows);
    Case one;
    one.name = "server";
    one.batch = kBatch;
    one.what = "claim + UPDATE; raw: the same server answers at once, without source and store";
    one.raw = [&] { return server_alone(payloads); };
    one.semel = [&] {
      return static_cast<double>(payloads.size()) / requests_into_sqlite(payloads).seconds;
    };
    report_.run(one, rounds_);
  }

  void into_sqlite() {
    if (!report_.wanted("sqlite")) return;
    const auto payloads = make_payloads(messages_, Keys::kOrdered, 1, kHotRows);
    std::vector<double> slow;   // the p99 of each round
    std::vector<double> turns;  // in which all that is in flight is handled once
    Case one;
    one.name = "sqlite";
    one.batch = kBatch;
    one.what = "claim + UPDATE; raw: the same from memory; goal 0.7";
    one.raw = [&] {
      const auto place = make_place();
      const double rate = consume(*place->open(), StoreBench::run_of(Setting{}), payloads);
      StoreBench::check_sum(*place, payloads);
      return rate;
    };
    one.semel = [&] {
      const HttpLoad load = requests_into_sqlite(payloads);
      const double rate = static_cast<double>(payloads.size()) / load.seconds;
      slow.push_back(p99(load.latencies));
      turns.push_back(static_cast<double>(kConnections) / rate);
      return rate;
    };
    report_.run(one, rounds_);
    if (!report_.wanted("sqlite-p99-ms")) return;
    constexpr double kMilliseconds = 1'000;
    report_.add("sqlite-p99-ms", kBatch, median(turns) * kMilliseconds,
                median(slow) * kMilliseconds, median(slow) / median(turns),
                fmt::format("p99 of an answer; raw: the time in which {} requests are handled; "
                            "goal: of_raw at most 3",
                            kConnections));
  }

  const Options options_;
  Report report_;
  const std::size_t rounds_;
  const std::size_t messages_;
  std::size_t files_ = 0;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::HttpBench(options).run();
  });
}
