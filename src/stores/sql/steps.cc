#include "stores/sql/steps.h"

#include "stores/sql/operator.h"
#include "stores/sql/transacted.h"

namespace semel::sql {
namespace {

class ServerSteps final : public StepStore {
 public:
  explicit ServerSteps(const Core& core) : core_(core) {}

  Result<StepJournal> read(const KeyId& record) override {
    return contained([&] {
      Lent lent(core_.pool);
      return StepRows(*lent, core_.texts.steps).read(record);
    });
  }

  Result<Applied> keep(const Lease& lease, const StepEntry& entry) override {
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        const auto row = tables.records.find(lease.key, Lock::kForUpdate);
        const bool held =
            row && row->record.state == RecordState::kConsuming && row->record.nonce == lease.nonce;
        if (!held) return Applied::kLeaseLost;
        tables.steps.keep(lease.key, entry, work.now());
        return Applied::kYes;
      });
    });
  }

  Result<bool> give_up(const KeyId& record, const GivingUp& note) override {
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        if (!reopen_record(tables, record, work.now())) return false;
        tables.steps.give_up(record, note, work.now());
        return true;
      });
    });
  }

 private:
  const Core core_;
};

}  // namespace

std::unique_ptr<StepStore> make_steps(const Core& core) {
  return std::make_unique<ServerSteps>(core);
}

}  // namespace semel::sql
