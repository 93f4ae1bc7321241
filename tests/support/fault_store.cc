#include "tests/support/fault_store.h"

#include <type_traits>
#include <utility>

namespace semel::test {

void FaultPlan::fail(StoreCall call, std::size_t nth, ErrorKind kind, When when) {
  const std::scoped_lock lock(mutex_);
  planned_.push_back({call, nth == 0 ? 1 : nth, {kind, when}});
}

void FaultPlan::fail_always(StoreCall call, ErrorKind kind, When when) {
  const std::scoped_lock lock(mutex_);
  planned_.push_back({call, 0, {kind, when}});
}

void FaultPlan::clear() {
  const std::scoped_lock lock(mutex_);
  planned_.clear();
}

void FaultPlan::delay_answer(StoreCall call, std::function<void()> then) {
  const std::scoped_lock lock(mutex_);
  delays_[call] = std::move(then);
}

std::function<void()> FaultPlan::take_delay(StoreCall call) {
  const std::scoped_lock lock(mutex_);
  const auto found = delays_.find(call);
  return found == delays_.end() ? nullptr : std::move(delays_.extract(found).mapped());
}

std::size_t FaultPlan::fired() const {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [call, count] : fired_) sum += count;
  return sum;
}

std::size_t FaultPlan::fired(StoreCall call) const {
  const std::scoped_lock lock(mutex_);
  const auto found = fired_.find(call);
  return found == fired_.end() ? 0 : found->second;
}

std::size_t FaultPlan::calls(StoreCall call) const {
  const std::scoped_lock lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

std::optional<FaultPlan::Fault> FaultPlan::met(StoreCall call) {
  const std::scoped_lock lock(mutex_);
  ++calls_[call];
  std::optional<Fault> fault;
  for (auto at = planned_.begin(); at != planned_.end();) {
    if (at->call != call) {
      ++at;
    } else if (at->left == 0) {
      fault = at->fault;
      ++at;
    } else if (--at->left == 0) {
      fault = at->fault;
      at = planned_.erase(at);
    } else {
      ++at;
    }
  }
  if (fault) ++fired_[call];
  return fault;
}

namespace {

// Runs `work` as the plan has it.
template <class Work>
auto with_faults(FaultPlan& plan, StoreCall call, Work&& work) -> decltype(work()) {
  const auto fault = plan.met(call);
  if (!fault) {
    auto answer = work();
    if (const auto late = plan.take_delay(call)) late();
    return answer;
  }
  if (fault->when == When::kAfter) {
    // Its answer is lost with the fault.
    static_cast<void>(work());
  }
  return failure({fault->kind, "R299", "a fault injected by the test", ""});
}

class FaultUnit final : public UnitOfWork {
 public:
  FaultUnit(std::unique_ptr<UnitOfWork> inner, FaultPlan& plan)
      : inner_(std::move(inner)), plan_(plan) {}

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    return with_faults(plan_, StoreCall::kUnitClaim, [&] { return inner_->claim(messages); });
  }
  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    return with_faults(plan_, StoreCall::kUnitConfirm, [&] { return inner_->confirm(leases); });
  }
  void run(std::size_t message, const StatementList& statements) override {
    inner_->run(message, statements);
  }
  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    return with_faults(plan_, StoreCall::kUnitQuery,
                       [&] { return inner_->query(message, statement); });
  }
  Result<FlushReport> flush() override {
    return with_faults(plan_, StoreCall::kUnitFlush, [&] { return inner_->flush(); });
  }
  Result<void> undo(std::size_t message) override {
    return with_faults(plan_, StoreCall::kUnitUndo, [&] { return inner_->undo(message); });
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return with_faults(plan_, StoreCall::kUnitFinish, [&] { return inner_->finish(batch); });
  }
  Result<void> commit() override {
    auto committed = with_faults(plan_, StoreCall::kUnitCommit, [&] { return inner_->commit(); });
    // A unit whose commit never reached the store is rolled back, as when its connection ends.
    if (!committed) inner_.reset();
    return committed;
  }

 private:
  std::unique_ptr<UnitOfWork> inner_;
  FaultPlan& plan_;
};

class FaultStore final : public Store, private TransactionalStore, private HeldMessages {
 public:
  FaultStore(Store& inner, FaultPlan& plan)
      : inner_(inner), inner_facets_(inner.facets()), plan_(plan) {}

  const StoreTraits& traits() const noexcept override { return inner_.traits(); }
  StoreFacets facets() noexcept override {
    StoreFacets facets = inner_facets_;
    if (facets.transactional != nullptr) facets.transactional = this;
    if (facets.held != nullptr) facets.held = this;
    return facets;
  }
  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override {
    return with_faults(plan_, StoreCall::kAttach, [&] { return inner_.attach(consumer); });
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return with_faults(plan_, StoreCall::kClaim, [&] { return inner_.claim(messages, options); });
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return with_faults(plan_, StoreCall::kRenew, [&] { return inner_.renew(leases, lease); });
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return with_faults(plan_, StoreCall::kFinish, [&] { return inner_.finish(batch); });
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return with_faults(plan_, StoreCall::kPurge, [&] { return inner_.purge(budget); });
  }

  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    return with_faults(plan_, StoreCall::kBegin, [&]() -> Result<std::unique_ptr<UnitOfWork>> {
      auto unit = inner_facets_.transactional->begin(options);
      if (!unit) return failure(std::move(unit.error()));
      return std::make_unique<FaultUnit>(std::move(*unit), plan_);
    });
  }

  Result<void> append(ConsumerNumber consumer, std::span<const OutgoingMessage> messages) override {
    return with_faults(plan_, StoreCall::kHeldAppend,
                       [&] { return inner_facets_.held->append(consumer, messages); });
  }
  Result<std::vector<Arrival>> take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, std::chrono::milliseconds hidden,
                                    const LineOf& line_of) override {
    return with_faults(plan_, StoreCall::kHeldTake, [&] {
      return inner_facets_.held->take(consumer, max_messages, max_bytes, hidden, line_of);
    });
  }
  Result<std::vector<Place>> hold_behind(ConsumerNumber consumer,
                                         std::span<const Follower> followers,
                                         std::size_t most_bytes) override {
    return with_faults(plan_, StoreCall::kHeldBehind, [&] {
      return inner_facets_.held->hold_behind(consumer, followers, most_bytes);
    });
  }
  Result<std::vector<Bytes>> lines(ConsumerNumber consumer) override {
    return with_faults(plan_, StoreCall::kHeldLines,
                       [&] { return inner_facets_.held->lines(consumer); });
  }
  Result<void> release(std::span<const RowTag> rows, std::chrono::milliseconds delay) override {
    return with_faults(plan_, StoreCall::kHeldRelease,
                       [&] { return inner_facets_.held->release(rows, delay); });
  }
  Result<void> extend(std::span<const RowTag> rows, std::chrono::milliseconds hidden) override {
    return with_faults(plan_, StoreCall::kHeldExtend,
                       [&] { return inner_facets_.held->extend(rows, hidden); });
  }
  Result<void> remove(std::span<const RowTag> rows) override {
    return with_faults(plan_, StoreCall::kHeldRemove,
                       [&] { return inner_facets_.held->remove(rows); });
  }
  Result<Depth> depth(ConsumerNumber consumer) override {
    return with_faults(plan_, StoreCall::kHeldDepth,
                       [&] { return inner_facets_.held->depth(consumer); });
  }
  int wake_fd() noexcept override { return inner_facets_.held->wake_fd(); }
  int wake_fd(ConsumerNumber consumer) noexcept override {
    return inner_facets_.held->wake_fd(consumer);
  }

 private:
  Store& inner_;
  StoreFacets inner_facets_;
  FaultPlan& plan_;
};

}  // namespace

std::unique_ptr<Store> make_fault_store(Store& inner, FaultPlan& plan) {
  return std::make_unique<FaultStore>(inner, plan);
}

}  // namespace semel::test
