// Redis joins the suites: each place is a prefix of its own on a real server.
#include <semel/redis.h>

#include <fmt/format.h>

#include "stores/redis/store.h"
#include "tests/conformance/store_model.h"
#include "tests/support/redis_server.h"

namespace semel::conformance {
namespace {

class RedisPlace final : public StorePlace {
 public:
  RedisPlace() : prefix_(server().new_database() + ":") {
    server().run({"EVAL",
                  "local t = redis.call('TIME') redis.call('HSET', ARGV[1], 'since', "
                  "t[1] * 1000000 + t[2], 'moved', 0)",
                  "0", clock()});
  }

  std::unique_ptr<Store> open() override {
    RedisOptions options;
    options.url = server().url();
    options.prefix = prefix_;
    redis::InnerOptions inner;
    // By itself it passes slowly: on a busy machine a test takes longer than what it measures.
    inner.clock = fmt::format(
        "(function() local t = redis.call('TIME') local c = redis.call('HMGET', '{}', 'since', "
        "'moved') return math.floor(c[1] + c[2] + (t[1] * 1000000 + t[2] - c[1]) / 10) end)()",
        clock());
    auto store = redis::open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  // What expires by the server's own clock is that much nearer to its end.
  void advance(milliseconds by) override {
    server().query(fmt::format("HINCRBY {} moved {}", clock(), by.count() * 1000));
    server().run({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                  "local left = redis.call('PTTL', key) "
                  "if left >= 0 then redis.call('PEXPIRE', key, math.max(left - ARGV[2], 0)) end "
                  "end",
                  "0", prefix_ + "*", std::to_string(by.count())});
  }
  // As if the time were over in which it would have had to give a sign.
  void notice_death(pid_t pid) override {
    server().run({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                  "if redis.call('GET', key) == ARGV[2] then redis.call('DEL', key) end end",
                  "0", prefix_ + "{store}alive:*", std::to_string(pid)});
  }
  bool has_transactions() override { return false; }

 private:
  static const test::RedisServer& server() { return test::RedisServer::shared(); }
  std::string clock() const { return prefix_ + "clock"; }

  std::string prefix_;
};

// It has no transactions (semel/redis.h): their suites are not its own.
const auto kRedis = testing::Values(
    StoreCase{"redis", [] { return std::unique_ptr<StorePlace>(new RedisPlace()); }});

INSTANTIATE_TEST_SUITE_P(Redis, StoreSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, StoreModelSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, HeldSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, DeadLetterSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, RunMarkersSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, HeldLinesSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, PositionsSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, GatesSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, RecordsSuite, kRedis, testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
