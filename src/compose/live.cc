#include "compose/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <semel/spi/recorded_statement.h>

#include "base/sql_lexer.h"
#include "core/row_select.h"
#include "sources/kafka/make_kafka_source.h"
#include "sources/nats/make_nats_source.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "sources/redis_streams/make_redis_streams_source.h"
#include "sources/sqs/make_sqs_source.h"

namespace semel::compose {
namespace {

using State = LiveStatement::State;

constexpr std::chrono::milliseconds kBrokerPatience{5'000};

constexpr const char* kHandler = "handler.sql";
constexpr const char* kApply = "handler.apply.sql";

// A statement of the config as it would run, and its path in the config.
struct Written {
  Statement statement;
  std::string path;
};

void add(std::string_view text, std::string path, std::vector<Written>& written) {
  const auto lexed = sql::lex(text);
  if (!lexed) return;
  const auto admitted = admit_statement(lexed->text);
  if (admitted) written.push_back({**admitted, std::move(path)});
}

void add(const core::SqlSpec& spec, std::string_view path, std::vector<Written>& written) {
  for (std::size_t i = 0; i < spec.statements.size(); ++i) {
    add(spec.statements[i].sql, fmt::format("{}.statements[{}]", path, i), written);
  }
}

std::vector<Written> written_in(const config::ConsumerConfig& consumer, core::RowLocks locks) {
  std::vector<Written> written;
  if (const auto* sql = std::get_if<config::SqlHandler>(&consumer.handler)) {
    add(sql->spec, kHandler, written);
  }
  if (consumer.apply) add(*consumer.apply, kApply, written);
  if (consumer.look) add(*consumer.look, "query.exists", written);
  if (consumer.lock) {
    const auto select = core::lock_select(consumer.lock->select, consumer.lock->done_when, locks);
    if (select) add(*select, "lock.select", written);
  }
  if (consumer.version) {
    const auto select = core::version_select(consumer.version->current, locks);
    if (select) add(select->sql, "version.current", written);
  }
  return written;
}

std::vector<Statement> statements_in(const std::vector<Written>& written) {
  std::vector<Statement> statements;
  for (const Written& one : written) statements.push_back(one.statement);
  return statements;
}

core::RowLocks locks_of(const Store& store) {
  return store.traits().single_writer ? core::RowLocks::kOneWriter : core::RowLocks::kForUpdate;
}

// Adds the idle rules of one part of a consumer.
Result<void> add_idle(LiveChecks& checks, const core::SqlSpec& spec, const IdleRule& where,
                      std::vector<IdleRule>& idle) {
  if (spec.on_unique_violation.empty()) return {};
  std::vector<Written> written;
  add(spec, where.path, written);
  auto told = checks.idle_rules(statements_in(written), spec.on_unique_violation);
  if (!told) return failure(std::move(told.error()));
  for (UniqueRule& rule : *told) {
    idle.push_back(
        {where.consumer, where.path + ".on_unique_violation", std::move(rule.constraint)});
  }
  return {};
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
    std::vector<Written> written = written_in(consumer, locks_of(store));
    auto told = checks->statements(statements_in(written));
    if (!told) return failure(std::move(told.error()));
    for (std::size_t i = 0; i < told->size(); ++i) {
      live.statements.push_back({std::move((*told)[i]), consumer.name, std::move(written[i].path)});
    }
  }
  return live;
}

Result<std::vector<IdleRule>> look_rules(Store& store, const config::Config& config) {
  std::vector<IdleRule> idle;
  LiveChecks* const checks = store.facets().live;
  if (checks == nullptr) return idle;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    if (const auto* sql = std::get_if<config::SqlHandler>(&consumer.handler)) {
      auto added = add_idle(*checks, sql->spec, {consumer.name, kHandler, {}}, idle);
      if (!added) return failure(std::move(added.error()));
    }
    if (consumer.apply) {
      auto added = add_idle(*checks, *consumer.apply, {consumer.name, kApply, {}}, idle);
      if (!added) return failure(std::move(added.error()));
    }
  }
  return idle;
}

std::vector<LiveHorizon> look_horizons(const config::Config& config) {
  std::vector<LiveHorizon> all;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    if (const auto* queue = std::get_if<config::SqsSource>(&consumer.source)) {
      LiveHorizon& one = all.emplace_back();
      one.consumer = consumer.name;
      one.retention = retention_of(consumer);
      auto told = sqs::look_at_queue(queue->spec);
      if (told) {
        one.horizon = std::move(told->horizon);
        one.redrive = std::move(told->redrive);
        one.crashes = consumer.retry.crashes;
      } else {
        one.error = std::move(told.error());
      }
      continue;
    }
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

std::vector<LiveGroup> look_groups(const config::Config& config) {
  const auto* const store = std::get_if<RedisOptions>(&config.store.kind);
  std::vector<LiveGroup> all;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    const auto* source = std::get_if<config::RedisStreamsSource>(&consumer.source);
    if (source == nullptr) continue;
    const core::RedisStreamsSpec& spec = source->spec;
    LiveGroup& one = all.emplace_back(LiveGroup{consumer.name, spec.stream, spec.group});
    // Without records no commit acknowledges an entry, and the store needs no right to do so.
    const bool asks_store = store != nullptr && core::has_record(consumer.strategy);
    auto looked = redis_streams::look_at_group(spec, asks_store ? store->url : std::string_view());
    if (looked) {
      one.unread = looked->state.unread;
      one.pending = looked->state.pending;
      one.missed = looked->state.missed;
      one.logged = looked->logged;
      one.with_record = looked->settled_by == redis_streams::GroupLook::SettledBy::kStore;
      one.refused = std::move(looked->refused);
    } else {
      one.error = std::move(looked.error());
    }
  }
  return all;
}

std::optional<LiveLag> look_lag(const config::ConsumerConfig& consumer) {
  std::optional<Result<std::int64_t>> waiting;
  if (const auto* const topic = std::get_if<config::KafkaSource>(&consumer.source)) {
    waiting = kafka::look_at_lag(topic->spec, kBrokerPatience);
  } else if (const auto* const queue = std::get_if<config::RabbitmqSource>(&consumer.source)) {
    waiting = rabbitmq::look_at_queue(queue->spec).map([](const rabbitmq::QueueLook& look) {
      return look.ready;
    });
  } else if (const auto* const durable = std::get_if<config::NatsSource>(&consumer.source)) {
    auto look = nats::look_at_consumer(durable->spec);
    waiting = look ? Result<std::int64_t>(look->waiting) : failure(std::move(look.error()));
  } else if (const auto* const stream = std::get_if<config::RedisStreamsSource>(&consumer.source)) {
    waiting =
        redis_streams::look_at_group(stream->spec).map([](const redis_streams::GroupLook& look) {
          return look.state.unread + look.state.pending;
        });
  } else if (const auto* const sqs_queue = std::get_if<config::SqsSource>(&consumer.source)) {
    waiting = sqs::look_at_queue(sqs_queue->spec).map([](const sqs::QueueFacts& facts) {
      return facts.ready;
    });
  }
  if (!waiting) return std::nullopt;
  LiveLag lag;
  if (*waiting) {
    lag.messages = **waiting;
  } else {
    lag.error = std::move(waiting->error());
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
                                  checked.consumer, one.said),
                      "make the table, or name in store: the database that has it"});
    case State::kNotTransactional:
      return failure({ErrorKind::kRejected, "D133",
                      fmt::format("{} writes to the table {}, whose engine {} is in no "
                                  "transaction: what is written stays where the record is undone",
                                  checked.consumer, one.table, one.kind),
                      fmt::format("ALTER TABLE {} ENGINE = InnoDB", one.table)});
    case State::kRefused:
      return failure(
          {ErrorKind::kRejected, "D134",
           fmt::format("{}: {} cannot run: {}", checked.consumer, checked.path, one.said),
           "mend the statement, or the tables"});
    case State::kForbidden:
      return failure(
          {ErrorKind::kRejected, "D135",
           fmt::format("{}: {} may not run: {}", checked.consumer, checked.path, one.said),
           "GRANT the right to the user of the store's url"});
  }
  return {};
}

bool stops_a_run(const Live::Checked& checked) noexcept {
  const State state = checked.statement.state;
  return state == State::kMissingTable || state == State::kNotTransactional;
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
