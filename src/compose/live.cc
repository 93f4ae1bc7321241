#include "compose/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/sql_lexer.h"

namespace semel::compose {
namespace {

using State = LiveTable::State;

void add_written(const core::SqlSpec& spec, const std::string& consumer,
                 std::vector<std::string>& names, std::vector<std::string>& consumers) {
  for (const auto& statement : spec.statements) {
    const auto lexed = sql::lex(statement.sql);
    if (!lexed) continue;
    for (const std::string& name : lexed->writes) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
      consumers.push_back(consumer);
    }
  }
}

}  // namespace

Result<Live> look_live(Store& store, const config::Config& config) {
  Live live;
  LiveChecks* const checks = store.facets().live;
  if (checks == nullptr) return live;
  auto settings = checks->settings();
  if (!settings) return failure(std::move(settings.error()));
  live.settings = *std::move(settings);
  std::vector<std::string> names, consumers;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    if (const auto* sql = std::get_if<config::SqlHandler>(&consumer.handler)) {
      add_written(sql->spec, consumer.name, names, consumers);
    }
    if (consumer.apply) add_written(*consumer.apply, consumer.name, names, consumers);
  }
  auto tables = checks->tables(names);
  if (!tables) return failure(std::move(tables.error()));
  for (std::size_t i = 0; i < tables->size(); ++i) {
    live.tables.push_back({std::move((*tables)[i]), std::move(consumers[i])});
  }
  return live;
}

Result<void> refuse_bad_tables(const Live& live) {
  for (const Live::Table& one : live.tables) {
    const std::string& name = one.table.name;
    switch (one.table.state) {
      case State::kFine:
        break;
      case State::kMissing:
        return failure({ErrorKind::kRejected, "D133",
                        fmt::format("{} writes to the table {}, which is not in the store's "
                                    "database",
                                    one.consumer, name),
                        "make the table, or name in store: the database that has it"});
      case State::kNotTransactional:
        return failure({ErrorKind::kRejected, "D133",
                        fmt::format("{} writes to the table {}, whose engine {} is in no "
                                    "transaction: what is written stays where the record is undone",
                                    one.consumer, name, one.table.kind),
                        fmt::format("ALTER TABLE {} ENGINE = InnoDB", name)});
    }
  }
  return {};
}

Guarantee lowered(Guarantee promise, const Live& live) {
  for (const LiveSetting& setting : live.settings) {
    if (setting.risk.empty()) continue;
    promise.loss = std::max(promise.loss, Guarantee::Loss::kOnPowerLoss);
    promise.reasons.push_back(
        fmt::format("{} = {}: {}", setting.name, setting.value, setting.risk));
  }
  return promise;
}

}  // namespace semel::compose
