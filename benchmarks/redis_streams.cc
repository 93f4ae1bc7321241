// Redis Streams: the source against hiredis by hand, and a stream's way into SQLite against what
// the store alone can do, in the same run.
#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <semel/version.h>

#include "benchmarks/by_hand.h"
#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/report.h"
#include "benchmarks/sqlite_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/timed_source.h"
#include "benchmarks/workload.h"
#include "sources/redis_streams/make_redis_streams_source.h"
#include "tests/support/redis_server.h"
#include "tests/support/redis_stream.h"

namespace semel::bench {
namespace {

// So many entries are pending before the first is acknowledged, on every side.
constexpr int kPending = 1'000;
constexpr std::size_t kReadAtOnce = 100;

// A member of the group on a connection of its own, as people write it: read some, handle them,
// acknowledge them, one after the other.
class HandMember {
 public:
  HandMember(int port, std::string stream)
      : stream_(std::move(stream)), context_(redisConnect("127.0.0.1", port), &redisFree) {
    if (context_ == nullptr || context_->err != 0) give_up("no Redis answers");
  }

  // Up to `most`, each given to `handle`; how many they were.
  std::size_t read(std::size_t most, const std::function<void(const char*, std::size_t)>& handle) {
    const std::string count = std::to_string(most);
    const Reply reply = ask({"XREADGROUP", "GROUP", test::RedisStream::group(), "hand", "COUNT",
                             count, "BLOCK", "20000", "STREAMS", stream_, ">"});
    if (reply->type != REDIS_REPLY_ARRAY) give_up("the stream has ended too soon");
    const redisReply& entries = *reply->element[0]->element[1];
    std::vector<std::string> acks{"XACK", stream_, test::RedisStream::group()};
    for (std::size_t i = 0; i < entries.elements; ++i) {
      const redisReply& entry = *entries.element[i];
      const redisReply& payload = *entry.element[1]->element[1];
      handle(payload.str, payload.len);
      acks.emplace_back(entry.element[0]->str);
    }
    (void)ask(acks);
    return entries.elements;
  }

 private:
  using Reply = std::unique_ptr<redisReply, void (*)(void*)>;

  Reply ask(const std::vector<std::string>& words) {
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      starts.push_back(word.data());
      sizes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(redisCommandArgv(
                    context_.get(), static_cast<int>(words.size()), starts.data(), sizes.data())),
                &freeReplyObject);
    if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) give_up("Redis refuses");
    return reply;
  }

  const std::string stream_;
  const std::unique_ptr<redisContext, decltype(&redisFree)> context_;
};

class RedisStreamsBench {
 public:
  explicit RedisStreamsBench(const Options& options)
      : options_(options),
        report_(options),
        rounds_(options.pick(1, 3, 5)),
        many_(options.pick(1'000, 50'000, 500'000)),
        few_(options.pick(20, 1'000, 5'000)),
        stored_(options.pick(500, 20'000, 100'000)) {}

  void run() {
    report_.header({fmt::format(
        "Semel {}; Redis, appendonly yes, synced each second, prefetch {}, {} byte messages, {} "
        "rounds of {} (into a store: {}, naive: {})",
        version(), kPending, kPayload, rounds_, many_, stored_, few_)});
    sources();
    into_sqlite();
    report_.finish();
  }

 private:
  using Stream = test::RedisStream;

  // A stream of its own for each side of a round.
  double with_stream(const std::vector<std::string>& payloads,
                     const std::function<double(const Stream&)>& side) {
    const Stream stream([this](const auto& words) { return server_.run(words); },
                        fmt::format("stream-{}", ++streams_));
    stream.make_group();
    stream.add(payloads);
    const double rate = side(stream);
    if (!stream.all_done()) give_up("entries of the stream are left");
    stream.run({"DEL", stream.name()});
    return rate;
  }

  std::unique_ptr<Source> open_source(const Stream& stream) const {
    redis_streams::RedisStreamsOptions options;
    options.spec.url = server_.url();
    options.spec.stream = stream.name();
    options.spec.group = Stream::group();
    options.spec.prefetch = kPending;
    options.follow = false;
    auto source = redis_streams::make_redis_streams_source(std::move(options));
    if (!source) give_up(source.error().message);
    return *std::move(source);
  }

  double by_hand(const Stream& stream, std::size_t messages, std::size_t at_once,
                 const std::function<void(const char*, std::size_t)>& handle) const {
    HandMember member(server_.port(), stream.name());
    const Stopwatch watch;
    for (std::size_t done = 0; done < messages;) done += member.read(at_once, handle);
    return static_cast<double>(messages) / watch.seconds();
  }

  void sources() {
    const auto payloads = make_payloads(many_, Keys::kOrdered, 1);
    Case one;
    one.batch = kBatch;
    one.raw = [&] {
      std::size_t bytes = 0;
      const double rate = with_stream(payloads, [&](const Stream& stream) {
        return by_hand(stream, payloads.size(), kReadAtOnce,
                       [&](const char*, std::size_t size) { bytes += size; });
      });
      if (bytes == 0) give_up("the messages are empty");
      return rate;
    };
    one.name = "source";
    one.what = "the source alone; raw: hiredis by hand; goal 0.7";
    one.semel = [&] {
      return with_stream(payloads, [&](const Stream& stream) {
        return source_alone(open_source(stream), payloads.size());
      });
    };
    report_.run(one, rounds_);
    one.name = "source-engine";
    one.what = "through the engine, strategy natural";
    one.semel = [&] {
      return with_stream(payloads, [&](const Stream& stream) {
        return through_engine(open_source(stream), payloads.size());
      });
    };
    report_.run(one, rounds_);
  }

  void into_sqlite() {
    if (!report_.wanted("sqlite")) return;
    const Setting setting{};
    const auto payloads = make_payloads(stored_, Keys::kOrdered, 2, kHotRows);
    const auto first = make_payloads(few_, Keys::kOrdered, 3, kHotRows);
    const auto make_place = [this] {
      return make_sqlite_place(fmt::format("{}/{}.db", options_.folder, ++files_));
    };
    Case one;
    one.name = "sqlite";
    one.batch = kBatch;
    one.what = "claim + UPDATE; raw: the same from memory; naive: read one, a transaction, ack";
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
        return by_hand(stream, first.size(), 1, [&](const char* payload, std::size_t size) {
          hand->consume({std::string(payload, size)}, 1);
        });
      });
      StoreBench::check_sum(*place, first);
      return rate;
    };
    one.semel = [&] {
      const auto place = make_place();
      const double rate = with_stream(payloads, [&](const Stream& stream) {
        const auto store = place->open();
        const ConsumerRun run = StoreBench::run_of(setting);
        const double taken = through_consumer(*store, run, open_source(stream), payloads.size());
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
  std::size_t streams_ = 0;
  const test::RedisServer server_{{.arguments = {"--appendfsync", "everysec"}}};
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::RedisStreamsBench(options).run();
  });
}
