#include <semel/live_checks.h>

#include "stores/sqlite/core.h"
#include "stores/sqlite/prepared.h"

namespace semel::sqlite {
namespace {

// What decides about a crash is set by Semel itself, on each of its connections: there is nothing
// that a server could be set to. A journal that is not WAL it refuses.
class FileLiveChecks final : public LiveChecks {
 public:
  explicit FileLiveChecks(Core& core) : core_(core) {}

  Result<std::vector<LiveSetting>> settings() override {
    return contained([&] {
      return core_.reader.glance([](Tables&, Connection& connection) {
        return std::vector<LiveSetting>{
            {"journal_mode", connection.ask("PRAGMA journal_mode"), {}, {}}};
      });
    });
  }

  Result<std::vector<LiveTable>> tables(std::span<const std::string> names) override {
    return contained([&] {
      return core_.reader.glance([&](Tables&, Connection& connection) {
        std::vector<LiveTable> tables;
        for (const std::string& name : names) {
          Prepared look(connection,
                        "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND "
                        "name = ?1 COLLATE NOCASE");
          look.bind_text(1, name);
          tables.push_back(
              {name, look.next() ? LiveTable::State::kFine : LiveTable::State::kMissing, {}});
        }
        return tables;
      });
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<LiveChecks> make_live_checks(Core& core) {
  return std::make_unique<FileLiveChecks>(core);
}

}  // namespace semel::sqlite
