// StepStore over its rows.
#include "stores/sqlite/core.h"
#include "stores/sqlite/operator.h"

namespace semel::sqlite {
namespace {

class SqliteSteps final : public StepStore {
 public:
  explicit SqliteSteps(Core& core) : core_(core) {}

  Result<StepJournal> read(const KeyId& record) override {
    return contained([&] {
      return core_.reader.glance(
          [&](Tables& tables, Connection&) { return tables.steps.read(record); });
    });
  }

  Result<Applied> keep(const Lease& lease, const StepEntry& entry) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      Tables& tables = transaction.tables();
      if (!tables.live.note_steps(lease.key, lease.nonce)) return Applied::kLeaseLost;
      tables.steps.keep(lease.key, entry, transaction.now());
      transaction.commit();
      return Applied::kYes;
    });
  }

  Result<bool> give_up(const KeyId& record, const GivingUp& note) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      Tables& tables = transaction.tables();
      const StoreTime now = transaction.now();
      if (!reopen_record(tables, record, now)) return false;
      tables.steps.give_up(record, note, now);
      if (auto live = tables.live.find(record); live && !live->steps) {
        live->steps = true;
        tables.live.save(record, *live, now);
      }
      transaction.commit();
      return true;
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<StepStore> make_steps(Core& core) { return std::make_unique<SqliteSteps>(core); }

}  // namespace semel::sqlite
