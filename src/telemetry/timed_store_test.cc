#include "telemetry/timed_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <semel/memory.h>

#include "telemetry/exposition.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"
#include "tests/support/test_environment.h"

namespace semel::telemetry {
namespace {

std::string value_of(const StoreMetrics& metrics, const std::string& series) {
  const std::string text =
      "\n" + exposition(metrics.families("memory"), MetricsFormat::kPrometheus);
  const auto at = text.find("\n" + series + " ");
  if (at == std::string::npos) return "(none)";
  const auto from = at + series.size() + 2;
  return text.substr(from, text.find('\n', from) - from);
}

std::string calls(const StoreMetrics& metrics, const std::string& operation) {
  return value_of(metrics,
                  "semel_store_operation_duration_seconds_count{store=\"memory\","
                  "operation=\"" +
                      operation + "\"}");
}

std::string errors(const StoreMetrics& metrics, const std::string& operation) {
  return value_of(metrics,
                  "semel_store_errors_total{store=\"memory\",operation=\"" + operation + "\"}");
}

TEST(TimedStoreTest, CountsCallsAndAnswersAsItsStore) {
  StoreMetrics metrics;
  const auto store = timed(make_memory_store({}), metrics);
  EXPECT_EQ(store->traits().name, "memory");
  ConsumerSpec spec;
  spec.name = "payments";
  const auto number = store->attach(spec);
  ASSERT_TRUE(number);
  const Message message = std::move(test::make_delivery(*number, "k").message);
  const Message* const one = &message;
  const auto claims = store->claim({&one, 1}, {});
  ASSERT_TRUE(claims);
  const auto* const acquired = std::get_if<Acquired>(&claims->front());
  ASSERT_NE(acquired, nullptr);
  const Finish finish = test::completed(acquired->lease);
  ASSERT_TRUE(store->finish({&finish, 1}));
  EXPECT_EQ(calls(metrics, "claim"), "1");
  EXPECT_EQ(calls(metrics, "finish"), "1");
  EXPECT_EQ(calls(metrics, "renew"), "0");
  EXPECT_EQ(errors(metrics, "claim"), "0");
  const auto again = store->claim({&one, 1}, {});
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::holds_alternative<Completed>(again->front()));
}

TEST(TimedStoreTest, CountsLeasesThatWereTakenOverAndRecordsThatWereSwept) {
  test::TestEnvironment environment;
  StoreMetrics metrics;
  MemoryOptions options;
  options.environment = &environment.get();
  const auto store = timed(make_memory_store(options), metrics);
  const auto number = store->attach({"payments", "recipe", false, std::chrono::hours(1)});
  ASSERT_TRUE(number);
  const std::string takeovers = "semel_lease_takeovers_total{consumer=\"payments\"}";
  const std::string swept = "semel_swept_total{store=\"memory\"}";
  EXPECT_EQ(value_of(metrics, takeovers), "0");
  EXPECT_EQ(value_of(metrics, swept), "0");
  const Message left = std::move(test::make_delivery(*number, "left").message);
  const Message kept = std::move(test::make_delivery(*number, "kept").message);
  const auto claimed = [&](const Message& message) {
    const Message* const one = &message;
    return std::get<Acquired>(store->claim({&one, 1}, {}).value().front()).lease;
  };
  const auto finished = [&](const Finish& finish) {
    EXPECT_EQ(store->finish({&finish, 1}).value().front(), Applied::kYes);
  };
  claimed(left);
  finished(test::completed(claimed(kept)));
  environment.clock.advance(std::chrono::minutes(2));
  finished(test::retrying(claimed(left), std::chrono::seconds(1), nullptr));
  EXPECT_EQ(value_of(metrics, takeovers), "1");
  environment.clock.advance(std::chrono::minutes(2));
  claimed(left);
  EXPECT_EQ(value_of(metrics, takeovers), "1") << "a retry takes nothing over";
  EXPECT_EQ(store->purge(std::chrono::seconds(1)).value().records, 0U);
  environment.clock.advance(std::chrono::hours(3));
  EXPECT_EQ(store->purge(std::chrono::seconds(1)).value().records, 1U);
  EXPECT_EQ(value_of(metrics, swept), "1");
}

// Each claim takes over; `commits` says whether commits succeed.
class TakingUnit final : public UnitOfWork {
 public:
  TakingUnit(const bool& commits, ConsumerNumber consumer)
      : commits_(commits), consumer_(consumer) {}

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    Acquired acquired;
    acquired.lease.key = test::make_delivery(consumer_, "k").message.key().id;
    acquired.lease_ended = true;
    return std::vector<Claim>(messages.size(), acquired);
  }
  Result<std::vector<Applied>> confirm(std::span<const Lease>) override { return {}; }
  void run(std::size_t, const StatementList&) override {}
  Result<Rows> query(std::size_t, const RecordedStatement&) override { return {}; }
  Result<FlushReport> flush() override { return {}; }
  Result<void> undo(std::size_t) override { return {}; }
  Result<std::vector<Applied>> finish(std::span<const Finish>) override { return {}; }
  Result<void> commit() override {
    if (!commits_) return failure({ErrorKind::kUnavailable, "R299", "not committed", {}});
    return {};
  }

 private:
  const bool& commits_;
  const ConsumerNumber consumer_;
};

class TakingStore final : public Store, private TransactionalStore {
 public:
  explicit TakingStore(const bool& commits) : commits_(commits) {}

  const StoreTraits& traits() const noexcept override { return memory_->traits(); }
  StoreFacets facets() noexcept override {
    StoreFacets facets;
    facets.transactional = this;
    return facets;
  }
  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    auto number = memory_->attach(spec);
    if (number) consumer_ = *number;
    return number;
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const>, const ClaimOptions&) override {
    return {};
  }
  Result<std::vector<Applied>> renew(std::span<const Lease>, std::chrono::milliseconds) override {
    return {};
  }
  Result<std::vector<Applied>> finish(std::span<const Finish>) override { return {}; }
  Result<PurgeReport> purge(std::chrono::milliseconds) override { return {}; }

 private:
  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions&) override {
    return std::make_unique<TakingUnit>(commits_, consumer_);
  }

  const std::unique_ptr<Store> memory_ = make_memory_store({});
  const bool& commits_;
  ConsumerNumber consumer_{};
};

TEST(TimedStoreTest, ATakeoverCountsWhenItsTransactionIsCommitted) {
  bool commits = false;
  StoreMetrics metrics;
  const auto store = timed(std::make_unique<TakingStore>(commits), metrics);
  const auto number = store->attach({"payments", "recipe", false, std::chrono::hours(1)});
  ASSERT_TRUE(number);
  const Message message = std::move(test::make_delivery(*number, "k").message);
  const Message* const one = &message;
  const auto claimed = [&] {
    auto unit = store->facets().transactional->begin({}).value();
    EXPECT_EQ(unit->claim({&one, 1}).value().size(), 1U);
    return unit;
  };
  const auto takeovers = [&] {
    return value_of(metrics, "semel_lease_takeovers_total{consumer=\"payments\"}");
  };
  EXPECT_FALSE(claimed()->commit());
  EXPECT_FALSE(claimed()->flush_and_commit({}));
  claimed().reset();
  EXPECT_EQ(takeovers(), "0");
  commits = true;
  EXPECT_TRUE(claimed()->commit());
  EXPECT_EQ(takeovers(), "1");
  EXPECT_TRUE(claimed()->flush_and_commit({}));
  EXPECT_EQ(takeovers(), "2");
}

TEST(TimedStoreTest, CountsWhatFails) {
  const auto inner = make_memory_store({});
  test::FaultPlan plan;
  StoreMetrics metrics;
  const auto store = timed(test::make_fault_store(*inner, plan), metrics);
  plan.fail(test::StoreCall::kRenew, 1, ErrorKind::kUnavailable, test::When::kBefore);
  EXPECT_FALSE(store->renew({}, std::chrono::seconds(1)));
  EXPECT_TRUE(store->renew({}, std::chrono::seconds(1)));
  EXPECT_EQ(calls(metrics, "renew"), "2");
  EXPECT_EQ(errors(metrics, "renew"), "1");
}

}  // namespace
}  // namespace semel::telemetry
