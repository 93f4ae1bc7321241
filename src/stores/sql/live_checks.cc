#include "stores/sql/live_checks.h"

namespace semel::sql {
namespace {

class ServerLiveChecks final : public LiveChecks {
 public:
  ServerLiveChecks(Pool& pool, Facts& facts) : pool_(pool), facts_(facts) {}

  Result<std::vector<LiveSetting>> settings() override {
    return contained([&] {
      Lent lent(pool_);
      return facts_.settings(*lent);
    });
  }

  Result<std::vector<LiveStatement>> statements(std::span<const Statement> statements) override {
    return contained([&] {
      Lent lent(pool_);
      std::vector<LiveStatement> told;
      for (const Statement& one : statements) told.push_back(facts_.statement(*lent, one));
      return told;
    });
  }

 private:
  Pool& pool_;
  Facts& facts_;
};

}  // namespace

std::unique_ptr<LiveChecks> make_live_checks(Pool& pool, Facts& facts) {
  return std::make_unique<ServerLiveChecks>(pool, facts);
}

}  // namespace semel::sql
