// Redis joins the strategy suite: it has no transactions.
#include <semel/redis.h>

#include "tests/conformance/strategy_suite.h"
#include "tests/support/redis_server.h"

namespace semel::conformance {
namespace {

class RedisPlace final : public StrategyPlace {
 public:
  std::unique_ptr<Store> open() override {
    RedisOptions options;
    options.url = test::RedisServer::shared().url();
    options.prefix = prefix_;
    auto store = open_redis(std::move(options));
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  std::int64_t sql(const std::string&) override { return 0; }

 private:
  const std::string prefix_ = test::RedisServer::shared().new_database() + ":";
};

std::unique_ptr<StrategyPlace> make() { return std::make_unique<RedisPlace>(); }

INSTANTIATE_TEST_SUITE_P(Redis, StrategySuite, testing::ValuesIn(cases_of("redis", make, false)),
                         testing::PrintToStringParamName());
using Outside = StrategyCase::Outside;
const StrategyCase kPlain{"redis", make, StrategyKind::kStateMachine, false};
const StrategyCase kAsync{"redis", make, StrategyKind::kStateMachine, false, Outside::kAsync};
const StrategyCase kBatch{"redis", make, StrategyKind::kStateMachine, false, Outside::kBatch};
INSTANTIATE_TEST_SUITE_P(Redis, RecordStrategySuite, testing::Values(kPlain, kAsync, kBatch),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, LeaseStrategySuite, testing::Values(kPlain),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
