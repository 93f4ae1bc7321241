#include "stores/sql/gates.h"

#include "stores/sql/held_content.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

class TableGates final : public Gates {
 public:
  explicit TableGates(Database& database) : database_(database) {}

  Result<std::optional<ShutGate>> state(ConsumerNumber consumer) override {
    return contained([&] {
      return database_.glance([&](Access& access) {
        auto gate = access.tables().gates.find(consumer);
        // Most gates are open: then the clock is not read.
        if (gate && gate->until && *gate->until <= access.now()) gate.reset();
        return gate;
      });
    });
  }

  Result<void> shut(ConsumerNumber consumer, std::string_view why,
                    std::optional<milliseconds> time) override {
    return contained([&] {
      const Sync sync = time ? Sync::kProcessCrash : Sync::kPowerLoss;
      database_.transact(sync, [&](Access& access) {
        const StoreTime now = access.now();
        std::optional<StoreTime> until;
        if (time) until = spi::due_after(now, *time);
        access.tables().gates.shut(consumer, why, now, until);
      });
    });
  }

  Result<void> open(ConsumerNumber consumer) override {
    return contained([&] {
      database_.change(Sync::kProcessCrash,
                       [&](Access& access) { access.tables().gates.open(consumer); });
    });
  }

  Result<bool> resume(ConsumerNumber consumer) override {
    return contained([&] {
      return database_.change(
          Sync::kPowerLoss, [&](Access& access) { return access.tables().gates.resume(consumer); });
    });
  }

 private:
  Database& database_;
};

}  // namespace

std::unique_ptr<Gates> make_gates(Database& database) {
  return std::make_unique<TableGates>(database);
}

}  // namespace semel::sql
