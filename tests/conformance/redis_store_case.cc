// Redis joins the suites: each place is a new prefix on a real server, with plain and with TLS
// connections. A server that may evict is not used for messages.
#include <semel/redis.h>

#include <fmt/format.h>

#include "stores/redis/store.h"
#include "tests/conformance/finish_model.h"
#include "tests/conformance/redis_park_in_line.h"
#include "tests/support/redis_server.h"
#include "tests/support/test_environment.h"
#include "tests/support/tls.h"

namespace semel::conformance {
namespace {

// With a certificate of its own, which it is known by.
class TlsServer {
 public:
  static const TlsServer& shared() {
    static const TlsServer server;
    return server;
  }
  const test::RedisServer& server() const { return *server_; }
  std::string url() const {
    return fmt::format("rediss://127.0.0.1:{}?tls-ca={}", port_, files_.file("host.pem"));
  }

 private:
  TlsServer() {
    files_.add("host", test::TlsIdentity());
    test::RedisServer::Options options = test::RedisServer::fast();
    test::add_tls(options.arguments, {port_, files_.file("host.pem"), files_.file("host.key"),
                                      files_.file("host.pem")});
    server_ = std::make_unique<test::RedisServer>(std::move(options));
  }
  const test::TlsFiles files_;
  const int port_ = test::free_port();
  std::unique_ptr<test::RedisServer> server_;
};

class RedisPlace final : public StorePlace {
 public:
  RedisPlace(const test::RedisServer& its_server, std::string url, bool evicts = false)
      : server_(its_server),
        url_(std::move(url)),
        evicts_(evicts),
        prefix_(its_server.new_database() + ":") {
    server().run({"EVAL",
                  "local t = redis.call('TIME') redis.call('HSET', ARGV[1], 'since', "
                  "t[1] * 1000000 + t[2], 'moved', 0)",
                  "0", clock()});
  }

  std::unique_ptr<Store> open() override {
    RedisOptions options;
    options.url = url_;
    options.prefix = prefix_;
    options.environment = &environment_;
    options.accept_eviction = evicts_;
    redis::InnerOptions inner;
    // The clock runs slowly by itself: on a busy machine a test takes longer than the times that it
    // measures.
    inner.clock = fmt::format(
        "(function() local t = redis.call('TIME') local c = redis.call('HMGET', '{}', 'since', "
        "'moved') return math.floor(c[1] + c[2] + (t[1] * 1000000 + t[2] - c[1]) / 10) end)()",
        clock());
    auto store = redis::open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  bool set_back(milliseconds by) override {
    advance(-by);
    return true;
  }
  // Keys that expire by the server's own clock come nearer to their end by this time.
  void advance(milliseconds by) override {
    server().query(fmt::format("HINCRBY {} moved {}", clock(), by.count() * 1000));
    server().run({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                  "local left = redis.call('PTTL', key) "
                  "if left >= 0 then redis.call('PEXPIRE', key, math.max(left - ARGV[2], 0)) end "
                  "end",
                  "0", prefix_ + "*", std::to_string(by.count())});
  }
  bool draw_only(std::optional<std::uint64_t> number) override {
    random_.set(number);
    return true;
  }
  // Simulates that the process has missed the time for its sign of life.
  void notice_death(pid_t pid) override {
    server().run({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                  "if redis.call('GET', key) == ARGV[2] then redis.call('DEL', key) end end",
                  "0", prefix_ + "{store}alive:*", std::to_string(pid)});
  }
  bool park_in_line(const Bytes& line) override {
    server().run({"EVAL", kRedisParkInLine, "0", prefix_, line});
    return true;
  }

 private:
  const test::RedisServer& server() const { return server_; }
  std::string clock() const { return prefix_ + "clock"; }

  const test::RedisServer& server_;
  const std::string url_;
  const bool evicts_;
  const std::string prefix_;
  test::SettableRandom random_;
  Environment environment_{system_environment().clock, &random_, system_environment().failpoints};
};

std::unique_ptr<StorePlace> plainly() {
  const auto& server = test::RedisServer::shared();
  return std::make_unique<RedisPlace>(server, server.url());
}

std::unique_ptr<StorePlace> by_tls() {
  const auto& tls = TlsServer::shared();
  return std::make_unique<RedisPlace>(tls.server(), tls.url());
}

std::unique_ptr<StorePlace> on_an_evicting_server() {
  static const test::RedisServer server({.arguments = {"--appendfsync", "no", "--maxmemory", "1gb",
                                                       "--maxmemory-policy", "allkeys-lru"}});
  return std::make_unique<RedisPlace>(server, server.url(), true);
}

// The suites of transactions are not its own.
const auto kRedis = testing::Values(StoreCase{"redis", plainly, {Facet::kTransactional}},
                                    StoreCase{"redis_tls", by_tls, {Facet::kTransactional}});
const auto kRedisWithoutMessages = testing::Values(
    StoreCase{"redis_evicting",
              on_an_evicting_server,
              {Facet::kTransactional, Facet::kHeld, Facet::kDeadLetters, Facet::kRuns}});

INSTANTIATE_TEST_SUITE_P(Redis, StoreSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, StoreModelSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, FinishModelSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, HeldSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, DeadLetterSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, RunMarkersSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, HeldLinesSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, PositionsSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, GatesSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, AuditSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, RecordsSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, StepsSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisEvicting, WithoutMessagesSuite, kRedisWithoutMessages,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisEvicting, StoreSuite, kRedisWithoutMessages,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisEvicting, StoreModelSuite, kRedisWithoutMessages,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisEvicting, RecordsSuite, kRedisWithoutMessages,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisEvicting, StepsSuite, kRedisWithoutMessages,
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
