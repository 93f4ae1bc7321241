#include "compose/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <semel/statement.h>

#include "base/sql_lexer.h"
#include "sources/kafka/make_kafka_source.h"

namespace semel::compose {
namespace {

using State = LiveStatement::State;

constexpr std::chrono::milliseconds kBrokerPatience{5'000};

void add(std::string_view text, std::vector<Statement>& statements) {
  const auto lexed = sql::lex(text);
  if (!lexed) return;
  if (const auto admitted = admit_statement(lexed->text)) statements.push_back(**admitted);
}

void add(const core::SqlSpec& spec, std::vector<Statement>& statements) {
  for (const auto& statement : spec.statements) add(statement.sql, statements);
}

std::vector<Statement> statements_of(const config::ConsumerConfig& consumer) {
  std::vector<Statement> statements;
  if (const auto* sql = std::get_if<config::SqlHandler>(&consumer.handler)) {
    add(sql->spec, statements);
  }
  if (consumer.apply) add(*consumer.apply, statements);
  if (consumer.look) add(*consumer.look, statements);
  if (consumer.lock) add(consumer.lock->select, statements);
  if (consumer.version) add(consumer.version->current, statements);
  return statements;
}

}  // namespace

Result<Live> look_live(Store& store, const config::Config& config) {
  Live live;
  LiveChecks* const checks = store.facets().live;
  if (checks == nullptr) return live;
  auto settings = checks->settings();
  if (!settings) return failure(std::move(settings.error()));
  live.settings = *std::move(settings);
  for (const config::ConsumerConfig& consumer : config.consumers) {
    auto told = checks->statements(statements_of(consumer));
    if (!told) return failure(std::move(told.error()));
    for (LiveStatement& one : *told) live.statements.push_back({std::move(one), consumer.name});
  }
  return live;
}

std::vector<LiveHorizon> look_horizons(const config::Config& config) {
  std::vector<LiveHorizon> all;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    const auto* source = std::get_if<config::KafkaSource>(&consumer.source);
    if (source == nullptr) continue;
    LiveHorizon& one = all.emplace_back();
    one.consumer = consumer.name;
    one.retention = retention_of(consumer);
    one.from = core::to_string(source->spec.from);
    auto told = kafka::look_at_retention(source->spec, kBrokerPatience);
    if (told) {
      one.horizon = std::move(told->horizon);
      one.offsets = told->offsets;
    } else {
      one.error = std::move(told.error());
    }
  }
  return all;
}

std::optional<LiveLag> look_lag(const config::ConsumerConfig& consumer) {
  const auto* source = std::get_if<config::KafkaSource>(&consumer.source);
  if (source == nullptr) return std::nullopt;
  LiveLag lag;
  auto told = kafka::look_at_lag(source->spec, kBrokerPatience);
  if (told) {
    lag.messages = *told;
  } else {
    lag.error = std::move(told.error());
  }
  return lag;
}

Result<void> refuse(const Live::Checked& checked) {
  const LiveStatement& one = checked.statement;
  switch (one.state) {
    case State::kFine:
      break;
    case State::kMissingTable:
      return failure({ErrorKind::kRejected, "D133",
                      fmt::format("{}: a table of its statements is not in the store's database: "
                                  "{}",
                                  checked.consumer, one.table),
                      "make the table, or name in store: the database that has it"});
    case State::kNotTransactional:
      return failure({ErrorKind::kRejected, "D133",
                      fmt::format("{} writes to the table {}, whose engine {} is in no "
                                  "transaction: what is written stays where the record is undone",
                                  checked.consumer, one.table, one.kind),
                      fmt::format("ALTER TABLE {} ENGINE = InnoDB", one.table)});
  }
  return {};
}

std::vector<std::string> risks_of(const Live& live) {
  std::vector<std::string> risks;
  for (const LiveSetting& setting : live.settings) {
    if (setting.risk.empty()) continue;
    risks.push_back(fmt::format("{} = {}: {}", setting.name, setting.value, setting.risk));
  }
  return risks;
}

Guarantee lowered(Guarantee promise, const Live& live) {
  for (std::string& risk : risks_of(live)) {
    promise.loss = std::max(promise.loss, Guarantee::Loss::kOnPowerLoss);
    promise.reasons.push_back(std::move(risk));
  }
  return promise;
}

}  // namespace semel::compose
