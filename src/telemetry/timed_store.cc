#include "telemetry/timed_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace semel::telemetry {

namespace {

using Operation = StoreMetrics::Operation;

template <class Call>
auto measured(StoreMetrics& metrics, Operation operation, Call&& call) {
  const auto began = std::chrono::steady_clock::now();
  auto result = call();
  metrics.observe(operation, std::chrono::steady_clock::now() - began, !result);
  return result;
}

class TimedUnit final : public UnitOfWork {
 public:
  TimedUnit(std::unique_ptr<UnitOfWork> unit, StoreMetrics& metrics)
      : unit_(std::move(unit)), metrics_(metrics) {}

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    auto claims = measured(metrics_, Operation::kClaim, [&] { return unit_->claim(messages); });
    if (claims) keep_takeovers(*claims);
    return claims;
  }
  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    return measured(metrics_, Operation::kClaim, [&] { return unit_->confirm(leases); });
  }
  void run(std::size_t message, const StatementList& statements) override {
    unit_->run(message, statements);
  }
  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    return measured(metrics_, Operation::kQuery, [&] { return unit_->query(message, statement); });
  }
  Result<FlushReport> flush() override {
    return measured(metrics_, Operation::kFlush, [&] { return unit_->flush(); });
  }
  Result<void> undo(std::size_t message) override { return unit_->undo(message); }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return measured(metrics_, Operation::kFinish, [&] { return unit_->finish(batch); });
  }
  Result<void> commit() override {
    auto committed = measured(metrics_, Operation::kCommit, [&] { return unit_->commit(); });
    if (committed) count_takeovers();
    return committed;
  }
  Result<FlushReport> flush_and_commit(std::span<const Finish> batch) override {
    auto report =
        measured(metrics_, Operation::kCommit, [&] { return unit_->flush_and_commit(batch); });
    if (report && report->committed) count_takeovers();
    return report;
  }

 private:
  // A claim here is the transaction's: where it is rolled back, nothing was taken over.
  void keep_takeovers(const std::vector<Claim>& claims) {
    std::ranges::copy_if(claims, std::back_inserter(takeovers_), [](const Claim& claim) {
      const auto* const acquired = std::get_if<Acquired>(&claim);
      return acquired != nullptr && acquired->lease_ended;
    });
  }
  void count_takeovers() noexcept {
    metrics_.claimed(takeovers_);
    takeovers_.clear();
  }

  const std::unique_ptr<UnitOfWork> unit_;
  StoreMetrics& metrics_;
  std::vector<Claim> takeovers_;  // since the last commit
};

class TimedStore final : public Store, private TransactionalStore {
 public:
  TimedStore(std::unique_ptr<Store> store, StoreMetrics& metrics)
      : store_(std::move(store)), metrics_(metrics) {}

  const StoreTraits& traits() const noexcept override { return store_->traits(); }
  StoreFacets facets() noexcept override {
    StoreFacets facets = store_->facets();
    if (facets.transactional != nullptr) facets.transactional = this;
    return facets;
  }
  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override {
    auto number = store_->attach(consumer);
    if (number) metrics_.attached(consumer.name, *number);
    return number;
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    auto claims =
        measured(metrics_, Operation::kClaim, [&] { return store_->claim(messages, options); });
    if (claims) metrics_.claimed(*claims);
    return claims;
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return measured(metrics_, Operation::kRenew, [&] { return store_->renew(leases, lease); });
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return measured(metrics_, Operation::kFinish, [&] { return store_->finish(batch); });
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    auto report = store_->purge(budget);
    if (report) metrics_.swept(report->records);
    return report;
  }

 private:
  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    auto begun = measured(metrics_, Operation::kBegin,
                          [&] { return store_->facets().transactional->begin(options); });
    if (!begun) return failure(std::move(begun.error()));
    return std::make_unique<TimedUnit>(*std::move(begun), metrics_);
  }

  const std::unique_ptr<Store> store_;
  StoreMetrics& metrics_;
};

}  // namespace

void StoreMetrics::observe(Operation operation, std::chrono::steady_clock::duration took,
                           bool failed) noexcept {
  Calls& calls = calls_[static_cast<std::size_t>(operation)];
  calls.durations.observe(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  if (failed) calls.failed.fetch_add(1, std::memory_order_relaxed);
}

void StoreMetrics::attached(const std::string& consumer, ConsumerNumber number) {
  const system::MutexLock lock(mutex_);
  consumers_[number].name = consumer;
}

void StoreMetrics::claimed(std::span<const Claim> claims) noexcept {
  for (const Claim& claim : claims) {
    const auto* const acquired = std::get_if<Acquired>(&claim);
    if (acquired != nullptr && acquired->lease_ended) took_over(acquired->lease.key.consumer());
  }
}

// One that was never attached has no name to be counted under.
void StoreMetrics::took_over(ConsumerNumber consumer) noexcept {
  const system::MutexLock lock(mutex_);
  const auto found = consumers_.find(consumer);
  if (found != consumers_.end()) ++found->second.takeovers;
}

std::vector<MetricFamily> StoreMetrics::families(const std::string& store) const {
  MetricFamily durations{"semel_store_operation_duration_seconds",
                         "Calls of the store, a batch each.",
                         MetricType::kHistogram,
                         {}};
  MetricFamily errors{
      "semel_store_errors", "Calls of the store that failed.", MetricType::kCounter, {}};
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    const Labels labels{{"store", store}, {"operation", kOperations[i]}};
    durations.samples.push_back(
        {labels, 0, histogram_of(calls_[i].durations, kMicrosecondsPerSecond)});
    errors.samples.push_back(
        {labels, static_cast<double>(calls_[i].failed.load(std::memory_order_relaxed)), {}});
  }
  MetricFamily swept{
      "semel_swept",
      "Finished records that this process removed because they were past their ttl.",
      MetricType::kCounter,
      {{{{"store", store}}, static_cast<double>(swept_.load(std::memory_order_relaxed)), {}}}};
  return {std::move(durations), std::move(errors), std::move(swept), takeovers()};
}

MetricFamily StoreMetrics::takeovers() const {
  MetricFamily made{"semel_lease_takeovers",
                    "Claims that took a key from a holder whose lease had run out.",
                    MetricType::kCounter,
                    {}};
  const system::MutexLock lock(mutex_);
  for (const auto& [number, consumer] : consumers_) {
    made.samples.push_back(
        {{{"consumer", consumer.name}}, static_cast<double>(consumer.takeovers), {}});
  }
  return made;
}

std::unique_ptr<Store> timed(std::unique_ptr<Store> store, StoreMetrics& metrics) {
  return std::make_unique<TimedStore>(std::move(store), metrics);
}

}  // namespace semel::telemetry
