// Redis Cluster joins the suites: each place is a prefix of its own on a real one.
#include <semel/redis.h>

#include <fmt/format.h>

#include "stores/redis/store.h"
#include "tests/conformance/finish_model.h"
#include "tests/conformance/redis_park_in_line.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {
namespace {

const test::RedisCluster& cluster() { return test::RedisCluster::shared(); }

class RedisClusterPlace final : public StorePlace {
 public:
  RedisClusterPlace() : prefix_(cluster().new_prefix()) {
    const std::string now = cluster().run_at(cluster().address().port, {"TIME"});
    const auto end = now.find('\n');
    const std::string since = fmt::format("{}{:0>6}", now.substr(0, end), now.substr(end + 1));
    for (const std::string& clock : clocks()) {
      cluster().run({"HSET", clock, "since", since, "moved", "0"});
    }
  }

  std::unique_ptr<Store> open() override {
    RedisOptions options;
    options.url = cluster().url();
    options.prefix = prefix_;
    options.environment = &environment_;
    redis::InnerOptions inner;
    // By itself it passes slowly: on a busy machine a test takes longer than what it measures. Each
    // node has one of the three, and may read no other.
    inner.clock = fmt::format(
        "(function() local t = redis.call('TIME') for _, key in ipairs({{'{}'}}) do "
        "local c = redis.pcall('HMGET', key, 'since', 'moved') "
        "if not c.err and c[1] then "
        "return math.floor(c[1] + c[2] + (t[1] * 1000000 + t[2] - c[1]) / 10) end end end)()",
        fmt::join(clocks(), "','"));
    auto store = redis::open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  bool set_back(milliseconds by) override {
    advance(-by);
    return true;
  }
  // Keys that expire by the servers' own clocks come nearer to their end by this time.
  void advance(milliseconds by) override {
    for (const std::string& clock : clocks()) {
      cluster().run({"HINCRBY", clock, "moved", std::to_string(by.count() * 1000)});
    }
    cluster().run_everywhere(
        {"EVAL",
         "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
         "local left = redis.call('PTTL', key) "
         "if left >= 0 then redis.call('PEXPIRE', key, math.max(left - ARGV[2], 0)) end end",
         "0", prefix_ + "*", std::to_string(by.count())});
  }
  bool draw_only(std::optional<std::uint64_t> number) override {
    random_.set(number);
    return true;
  }
  // Simulates that the process has missed the time for its sign of life.
  void notice_death(pid_t pid) override {
    cluster().run_everywhere({"EVAL",
                              "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                              "if redis.call('GET', key) == ARGV[2] then redis.call('DEL', key) "
                              "end end",
                              "0", prefix_ + "{store}alive:*", std::to_string(pid)});
  }
  bool park_in_line(const Bytes& line) override {
    cluster().run_everywhere({"EVAL", kRedisParkInLine, "0", prefix_, line});
    return true;
  }

 private:
  std::vector<std::string> clocks() const {
    static const std::vector<std::string> tags = [] {
      std::vector<std::string> all;
      for (const int port : cluster().masters()) all.push_back(cluster().tag_at(port));
      return all;
    }();
    std::vector<std::string> names;
    for (const std::string& tag : tags) names.push_back("clock:" + prefix_ + "{" + tag + "}");
    return names;
  }

  const std::string prefix_;
  test::SettableRandom random_;
  Environment environment_{system_environment().clock, &random_, system_environment().failpoints};
};

// The suites of transactions are not its own.
const auto kRedisCluster =
    testing::Values(StoreCase{"redis_cluster",
                              [] { return std::unique_ptr<StorePlace>(new RedisClusterPlace()); },
                              {Facet::kTransactional}});

INSTANTIATE_TEST_SUITE_P(RedisCluster, StoreSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, StoreModelSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, FinishModelSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, HeldSuite, kRedisCluster, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, DeadLetterSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, RunMarkersSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, HeldLinesSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, PositionsSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, GatesSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, AuditSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, RecordsSuite, kRedisCluster,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, StepsSuite, kRedisCluster,
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
