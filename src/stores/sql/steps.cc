#include "stores/sql/steps.h"

namespace semel::sql {
namespace {

class TableSteps final : public StepStore {
 public:
  explicit TableSteps(Database& database) : database_(database) {}

  Result<StepJournal> read(const KeyId& record) override {
    return contained([&] {
      return database_.glance([&](Access& access) { return access.tables().steps.read(record); });
    });
  }

  Result<Applied> keep(const Lease& lease, const StepEntry& entry) override {
    return contained([&] {
      return database_.transact(Sync::kPowerLoss, [&](TransactionAccess& access) {
        const auto known = access.records().find(lease.key);
        const bool held = known && known->record.state == RecordState::kConsuming &&
                          known->record.nonce == lease.nonce;
        if (!held) return Applied::kLeaseLost;
        access.tables().steps.keep(lease.key, entry, access.now());
        access.records().note_steps(lease.key);
        return Applied::kYes;
      });
    });
  }

  Result<bool> give_up(const KeyId& record, const GivingUp& note) override {
    return contained([&] {
      return database_.transact(Sync::kPowerLoss, [&](TransactionAccess& access) {
        const StoreTime now = access.now();
        if (!access.records().reopen(record, now)) return false;
        access.tables().steps.give_up(record, note, now);
        access.records().note_steps(record);
        return true;
      });
    });
  }

 private:
  Database& database_;
};

}  // namespace

std::unique_ptr<StepStore> make_steps(Database& database) {
  return std::make_unique<TableSteps>(database);
}

}  // namespace semel::sql
