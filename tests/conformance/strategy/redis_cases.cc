// Redis joins the strategy suite, as one server and as a Cluster: it has no transactions.
#include <semel/redis.h>

#include "tests/conformance/strategy/age_gate_suite.h"
#include "tests/conformance/strategy_suite.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"

namespace semel::conformance {
namespace {

class RedisPlace final : public StrategyPlace {
 public:
  RedisPlace(std::string url, std::string prefix)
      : url_(std::move(url)), prefix_(std::move(prefix)) {}

  std::unique_ptr<Store> open() override {
    RedisOptions options;
    options.url = url_;
    options.prefix = prefix_;
    auto store = open_redis(std::move(options));
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  std::int64_t sql(const std::string&) override { return 0; }

 private:
  const std::string url_;
  const std::string prefix_;
};

std::unique_ptr<StrategyPlace> on_server() {
  const auto& server = test::RedisServer::shared();
  return std::make_unique<RedisPlace>(server.url(), server.new_database() + ":");
}

std::unique_ptr<StrategyPlace> on_cluster() {
  const auto& cluster = test::RedisCluster::shared();
  return std::make_unique<RedisPlace>(cluster.url(), cluster.new_prefix());
}

using Outside = StrategyCase::Outside;
using PlaceMaker = std::unique_ptr<StrategyPlace> (*)();

std::vector<StrategyCase> record_cases(const char* name, PlaceMaker make) {
  const StrategyKind kind = StrategyKind::kStateMachine;
  return {{name, make, kind, false},
          {name, make, kind, false, Outside::kAsync},
          {name, make, kind, false, Outside::kBatch}};
}

const StrategyCase kServer{"redis", on_server, StrategyKind::kStateMachine, false};
const StrategyCase kCluster{"redis_cluster", on_cluster, StrategyKind::kStateMachine, false};

INSTANTIATE_TEST_SUITE_P(Redis, StrategySuite,
                         testing::ValuesIn(cases_of("redis", on_server, false)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, RecordStrategySuite,
                         testing::ValuesIn(record_cases("redis", on_server)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, StrategySuite,
                         testing::ValuesIn(cases_of("redis_cluster", on_cluster, false)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, RecordStrategySuite,
                         testing::ValuesIn(record_cases("redis_cluster", on_cluster)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, LeaseStrategySuite, testing::Values(kServer, kCluster),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(Redis, AgeGateSuite,
                         testing::ValuesIn(age_gate_cases("redis", on_server, false)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, AgeGateSuite,
                         testing::ValuesIn(age_gate_cases("redis_cluster", on_cluster, false)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, AtMostOnceSuite,
                         testing::ValuesIn(at_most_once_cases("redis", on_server)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(RedisCluster, AtMostOnceSuite,
                         testing::ValuesIn(at_most_once_cases("redis_cluster", on_cluster)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
