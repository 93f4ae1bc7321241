#include "testing/crash_store.h"

#include <semel/environment.h>
#include <semel/spi/step_store.h>
#include <semel/spi/unit_of_work.h>

#include "core/failpoints.h"
#include "testing/crash_unit.h"

namespace semel::testkit {

namespace {

class CrashStore final : public Store, private TransactionalStore, private StepStore {
 public:
  CrashStore(Store& inner, Life& life) : inner_(inner), facets_(inner.facets()), life_(life) {}

  const StoreTraits& traits() const noexcept override { return inner_.traits(); }
  StoreFacets facets() noexcept override {
    StoreFacets facets = facets_;
    if (facets.transactional != nullptr) facets.transactional = this;
    if (facets.steps != nullptr) facets.steps = this;
    return facets;
  }
  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override {
    return alive([&] { return inner_.attach(consumer); });
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return between(failpoint::kBegun, failpoint::kClaimed,
                   [&] { return inner_.claim(messages, options); });
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return alive([&] { return inner_.renew(leases, lease); });
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return between(failpoint::kCommitBefore, failpoint::kCommitAfter,
                   [&] { return inner_.finish(batch); });
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return alive([&] { return inner_.purge(budget); });
  }

  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    if (life_.over()) return failure(ended_error());
    auto unit = facets_.transactional->begin(options);
    if (!unit) return failure(std::move(unit.error()));
    auto mine = make_crash_unit(*std::move(unit), life_);
    if (!life_.pass(failpoint::kBegun)) return failure(ended_error());
    return mine;
  }

  Result<StepJournal> read(const KeyId& record) override {
    return alive([&] { return facets_.steps->read(record); });
  }
  Result<Applied> keep(const Lease& lease, const StepEntry& entry) override {
    return between(failpoint::kStepBefore, failpoint::kStepAfter,
                   [&] { return facets_.steps->keep(lease, entry); });
  }
  Result<bool> give_up(const KeyId& record, const GivingUp& note) override {
    return alive([&] { return facets_.steps->give_up(record, note); });
  }

 private:
  template <class Work>
  auto alive(Work&& work) -> decltype(work()) {
    if (life_.over()) return failure(ended_error());
    return work();
  }
  template <class Work>
  auto between(std::string_view before, std::string_view after, Work&& work) -> decltype(work()) {
    if (!life_.pass(before)) return failure(ended_error());
    auto answer = work();
    if (!life_.pass(after)) return failure(ended_error());
    return answer;
  }

  Store& inner_;
  const StoreFacets facets_;
  Life& life_;
};

}  // namespace

std::unique_ptr<Store> make_crash_store(Store& inner, Life& life) {
  return std::make_unique<CrashStore>(inner, life);
}

}  // namespace semel::testkit
