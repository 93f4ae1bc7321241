#include "stores/sql/gates.h"

#include "stores/sql/transacted.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

class ServerGates final : public Gates {
 public:
  explicit ServerGates(const Core& core) : core_(core) {}

  Result<std::optional<ShutGate>> state(ConsumerNumber consumer) override {
    return contained([&] {
      Lent lent(core_.pool);
      auto gate = GateRows(*lent, core_.texts.gates).find(consumer);
      // Most are open, and cost no look at the clock.
      if (gate && gate->until && *gate->until <= lent->now()) gate.reset();
      return gate;
    });
  }

  Result<void> shut(ConsumerNumber consumer, std::string_view why,
                    std::optional<milliseconds> time) override {
    return contained([&] {
      transacted(core_.pool, [&](Work& work) {
        std::optional<StoreTime> until;
        if (time) until = after(work.now(), *time);
        GateRows(work.session(), core_.texts.gates).shut(consumer, why, work.now(), until);
      });
    });
  }

  Result<void> open(ConsumerNumber consumer) override {
    return contained([&] {
      Lent lent(core_.pool);
      GateRows(*lent, core_.texts.gates).open(consumer);
    });
  }

  Result<bool> resume(ConsumerNumber consumer) override {
    return contained([&] {
      Lent lent(core_.pool);
      return GateRows(*lent, core_.texts.gates).resume(consumer);
    });
  }

 private:
  const Core core_;
};

}  // namespace

std::unique_ptr<Gates> make_gates(const Core& core) { return std::make_unique<ServerGates>(core); }

}  // namespace semel::sql
