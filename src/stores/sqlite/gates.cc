// Gates over their rows.
#include "stores/sqlite/core.h"

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

class SqliteGates final : public Gates {
 public:
  explicit SqliteGates(Core& core) : core_(core) {}

  Result<std::optional<ShutGate>> state(ConsumerNumber consumer) override {
    return contained([&] {
      const StoreTime now = core_.clock.now();
      return core_.reader.glance(
          [&](Tables& tables, Connection&) { return tables.gates.find(consumer, now); });
    });
  }

  Result<void> shut(ConsumerNumber consumer, std::string_view why,
                    std::optional<milliseconds> time) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, time ? Sync::kProcessCrash : Sync::kPowerLoss,
                                   core_.options.busy);
      const StoreTime now = transaction.now();
      std::optional<StoreTime> until;
      if (time) until = after(now, *time);
      transaction.tables().gates.shut(consumer, why, now, until);
      transaction.commit();
    });
  }

  Result<void> open(ConsumerNumber consumer) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      transaction.tables().gates.open(consumer);
      transaction.commit();
    });
  }

  Result<bool> resume(ConsumerNumber consumer) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      const bool was_shut = transaction.tables().gates.resume(consumer);
      transaction.commit();
      return was_shut;
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<Gates> make_gates(Core& core) { return std::make_unique<SqliteGates>(core); }

}  // namespace semel::sqlite
