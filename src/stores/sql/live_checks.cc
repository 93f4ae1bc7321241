#include "stores/sql/live_checks.h"

namespace semel::sql {
namespace {

class ServerLiveChecks final : public LiveChecks {
 public:
  ServerLiveChecks(const Core& core, Facts& facts) : core_(core), facts_(facts) {}

  Result<std::vector<LiveSetting>> settings() override {
    return contained([&] {
      Lent lent(core_.pool);
      return facts_.settings(*lent);
    });
  }

  Result<std::vector<LiveStatement>> statements(std::span<const Statement> statements) override {
    return contained([&] {
      Lent lent(core_.pool);
      std::vector<LiveStatement> told;
      for (const Statement& one : statements) told.push_back(facts_.statement(*lent, one));
      return told;
    });
  }

  Result<std::vector<UniqueRule>> idle_rules(std::span<const Statement> statements,
                                             const std::vector<UniqueRule>& rules) override {
    return contained([&] {
      Lent lent(core_.pool);
      return core::idle_rules(rules, facts_.unique_names(*lent, statements));
    });
  }

  Result<std::optional<ConsumerNumber>> number_of(const ConsumerSpec& consumer) override {
    return contained([&]() -> std::optional<ConsumerNumber> {
      Lent lent(core_.pool);
      const auto row = core_.tables(*lent).consumers.find(consumer.name);
      if (!row) return std::nullopt;
      Consumers::check_recipe(*row, consumer);
      return row->number;
    });
  }

 private:
  const Core& core_;
  Facts& facts_;
};

}  // namespace

std::unique_ptr<LiveChecks> make_live_checks(const Core& core, Facts& facts) {
  return std::make_unique<ServerLiveChecks>(core, facts);
}

}  // namespace semel::sql
