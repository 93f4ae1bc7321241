#include "stores/sql/live_checks.h"

namespace semel::sql {
namespace {

class TableLiveChecks final : public LiveChecks {
 public:
  TableLiveChecks(Database& database, LiveFacts& facts) : database_(database), facts_(facts) {}

  Result<std::vector<LiveSetting>> settings() override {
    return contained([&] {
      return database_.glance([&](Access& access) { return facts_.settings(access.statements()); });
    });
  }

  Result<std::vector<LiveStatement>> statements(std::span<const Statement> statements) override {
    return contained([&] {
      return database_.glance([&](Access& access) {
        std::vector<LiveStatement> told;
        for (const Statement& one : statements) {
          told.push_back(facts_.statement(access.statements(), one));
        }
        return told;
      });
    });
  }

  Result<std::vector<UniqueRule>> idle_rules(std::span<const Statement> statements,
                                             const std::vector<UniqueRule>& rules) override {
    return contained([&] {
      return database_.look([&](Access& access) {
        return core::idle_rules(rules, facts_.unique_names(access.statements(), statements));
      });
    });
  }

  Result<std::optional<ConsumerNumber>> number_of(const ConsumerSpec& consumer) override {
    return contained([&] {
      return database_.look([&](Access& access) -> std::optional<ConsumerNumber> {
        const auto row = access.tables().consumers.find(consumer.name);
        if (!row) return std::nullopt;
        Consumers::check_recipe(*row, consumer);
        return row->number;
      });
    });
  }

 private:
  Database& database_;
  LiveFacts& facts_;
};

}  // namespace

std::unique_ptr<LiveChecks> make_live_checks(Database& database, LiveFacts& facts) {
  return std::make_unique<TableLiveChecks>(database, facts);
}

}  // namespace semel::sql
