#include <sqlite3.h>

#include <semel/live_checks.h>

#include "stores/sqlite/core.h"
#include "stores/sqlite/unique_names.h"

namespace semel::sqlite {
namespace {

// SQLite has one code for all that is wrong with a statement.
constexpr std::string_view kNoSuchTable = "no such table: ";

LiveStatement look_at(const Connection& connection, const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  const int code = ::sqlite3_prepare_v2(connection.handle(), sql.data(),
                                        static_cast<int>(sql.size()), &prepared, nullptr);
  ::sqlite3_finalize(prepared);
  if (code != SQLITE_ERROR) return {};
  LiveStatement refused{.said = ::sqlite3_errmsg(connection.handle())};
  const bool missing = refused.said.starts_with(kNoSuchTable);
  refused.state = missing ? LiveStatement::State::kMissingTable : LiveStatement::State::kRefused;
  return refused;
}

// What decides about a crash is set by Semel itself, on each of its connections: there is nothing
// that a server could be set to. A journal that is not WAL it refuses.
class FileLiveChecks final : public LiveChecks {
 public:
  explicit FileLiveChecks(Core& core) : core_(core) {}

  Result<std::vector<LiveSetting>> settings() override {
    return contained([&] {
      return core_.reader.glance([](Tables&, Connection& connection) {
        const bool enforced = connection.ask("PRAGMA foreign_keys") == "1";
        return std::vector<LiveSetting>{
            {"journal_mode", connection.ask("PRAGMA journal_mode"), {}, {}},
            {"foreign_keys", enforced ? "on" : "off", {}, {}}};
      });
    });
  }

  Result<std::vector<LiveStatement>> statements(std::span<const Statement> statements) override {
    return contained([&] {
      return core_.reader.glance([&](Tables&, Connection& connection) {
        std::vector<LiveStatement> told;
        for (const Statement& one : statements) told.push_back(look_at(connection, one.sql));
        return told;
      });
    });
  }

  Result<std::vector<UniqueRule>> idle_rules(std::span<const Statement>,
                                             const std::vector<UniqueRule>& rules) override {
    return contained([&] {
      return core_.reader.look([&](Tables&, Connection& connection) {
        return core::idle_rules(rules, unique_names_in(connection));
      });
    });
  }

  Result<std::optional<ConsumerNumber>> number_of(const ConsumerSpec& consumer) override {
    return contained([&] {
      return core_.reader.look([&](Tables& tables, Connection&) -> std::optional<ConsumerNumber> {
        const auto row = tables.consumers.find(consumer.name);
        if (!row) return std::nullopt;
        Consumers::check_recipe(*row, consumer);
        return row->number;
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
