#include "compose/consumer_handler.h"

#include <fmt/format.h>

#include <utility>

#include <semel/spi/unit_of_work.h>

#include "compose/steps.h"
#include "core/transaction_recorder.h"
#include "handlers/exec/exec_handler.h"
#include "handlers/http/http_handler.h"
#include "handlers/kafka/make_kafka_publisher.h"
#include "handlers/nats/make_nats_publisher.h"
#include "handlers/rabbitmq/make_rabbitmq_publisher.h"
#include "handlers/redis_streams/make_redis_streams_publisher.h"
#include "handlers/sql/sql_handler.h"
#include "handlers/sqs/make_sns_publisher.h"
#include "handlers/sqs/make_sqs_publisher.h"

namespace semel::compose {

namespace {

core::Decimals decimals_of(const ConsumerBuild& build) {
  return build.store->traits().decimals ? core::Decimals::kKept : core::Decimals::kDoubles;
}

Result<AsyncHandler> publisher_for(const config::HandlerConfig& handler, Environment& environment) {
  if (const auto* kafka = std::get_if<config::KafkaHandler>(&handler)) {
    return kafka::make_kafka_publisher(kafka->spec, environment);
  }
  if (const auto* nats = std::get_if<config::NatsHandler>(&handler)) {
    return nats::make_nats_publisher(nats->spec, environment);
  }
  if (const auto* streams = std::get_if<config::RedisStreamsHandler>(&handler)) {
    return redis_streams::make_redis_streams_publisher(streams->spec, environment);
  }
  if (const auto* topic = std::get_if<config::SnsHandler>(&handler)) {
    return sqs::make_sns_publisher(topic->spec, environment);
  }
  if (const auto* queue = std::get_if<config::SqsHandler>(&handler)) {
    return sqs::make_sqs_publisher(queue->spec, environment);
  }
  return rabbitmq::make_rabbitmq_publisher(std::get<config::RabbitmqHandler>(handler).spec,
                                           environment);
}

Result<Handler> publisher_of(const config::HandlerConfig& handler, Environment& environment) {
  auto made = publisher_for(handler, environment);
  if (!made) return failure(std::move(made.error()));
  return Handler(*std::move(made));
}

}  // namespace

const NativeWork* find_native(const ConsumerBuild& build, const std::string& name) {
  const auto found = build.options->natives.find(name);
  return found == build.options->natives.end() ? nullptr : &found->second;
}

Result<Handler> handler_of(const ConsumerBuild& build, std::optional<StepSpecs>& steps) {
  const auto& handler = build.consumer->handler;
  if (const auto* in_config = std::get_if<config::StepsHandler>(&handler)) {
    auto made = make_steps(*in_config, *build.options->environment);
    if (!made) return failure(std::move(made.error()));
    steps = std::move(made->specs);
    return Handler(std::move(made->handler));
  }
  // A claimed consumer has no source, so this handler is never called for a message.
  if (build.consumer->is_claimed()) {
    return Handler(PlainHandler(
        [](const Message&, const Attempt&) { return retry("its clients do the work"); }));
  }
  const bool once = build.consumer->strategy == core::StrategyKind::kAtMostOnce;
  if (const auto* sql = std::get_if<config::SqlHandler>(&handler)) {
    auto made = handlers::make_sql_handler(sql->spec, decimals_of(build));
    if (!made) return failure(std::move(made.error()));
    return Handler(*std::move(made));
  }
  if (const auto* exec = std::get_if<config::ExecHandler>(&handler)) {
    core::ExecSpec spec = exec->spec;
    spec.failure_is_doubt = once;
    auto made = handlers::make_exec_handler(spec);
    if (!made) return failure(std::move(made.error()));
    return Handler(*std::move(made));
  }
  if (const auto* http = std::get_if<config::HttpHandler>(&handler)) {
    core::HttpSpec spec = http->spec;
    spec.failure_is_doubt = once;
    auto made = handlers::make_http_handler(std::move(spec), *build.options->environment);
    if (!made) return failure(std::move(made.error()));
    return Handler(*std::move(made));
  }
  if (config::publishes(handler)) {
    auto made = publisher_of(handler, *build.options->environment);
    if (!made) return failure(of_consumer(build.consumer->name, std::move(made.error())));
    return made;
  }
  const std::string& name = std::get<config::NativeHandler>(handler).name;
  if (const auto* native = find_native(build, name)) return native->handler;
  return failure(Error{
      ErrorKind::kRejected, "E060",
      fmt::format(
          "consumer \"{}\" wants the native handler \"{}\", which this program does not have",
          build.consumer->name, name),
      fmt::format("register it: runner.on(\"{}\", …), or give the consumer handler: {{ sql: … }}",
                  name)});
}

std::function<Result<bool>(const Message&)> look_of(const ConsumerBuild& build, Error& error) {
  if (!build.consumer->look) return nullptr;
  core::SqlSpec spec;
  if (const auto* sql = std::get_if<config::SqlHandler>(&build.consumer->handler)) {
    spec.params = sql->spec.params;
  }
  spec.statements.push_back({*build.consumer->look, std::nullopt, {}});
  auto record = handlers::make_sql_handler(spec, decimals_of(build));
  if (!record) {
    error = std::move(record.error());
    return nullptr;
  }
  TransactionalStore* store = build.store->facets().transactional;
  return [record = *std::move(record), store](const Message& message) -> Result<bool> {
    struct NoQueries final : core::TransactionRecorder::Queries {
      Rows query(const RecordedStatement&, StatementList&) override { return {}; }
    } none;
    core::TransactionRecorder recorder(none);
    Transaction recording(recorder, Attempt{});
    // The verdict is always the same, since `record` only records statements.
    (void)record(message, recording);
    UnitOptions options;
    options.only_looks = true;
    auto unit = store->begin(options);
    if (!unit) return failure(std::move(unit.error()));
    auto rows = (*unit)->query(0, recorder.statements().front());
    if (!rows) return failure(std::move(rows.error()));
    return !rows->rows.empty();
  };
}

Result<handlers::RowGuard> guard_of(const ConsumerBuild& build, core::StrategyKind strategy) {
  const config::ConsumerConfig& consumer = *build.consumer;
  const auto locks =
      build.store->traits().single_writer ? core::RowLocks::kOneWriter : core::RowLocks::kForUpdate;
  if (strategy == core::StrategyKind::kPessimisticLock && consumer.lock) {
    return handlers::make_lock_guard(*consumer.lock, locks, decimals_of(build));
  }
  if (strategy == core::StrategyKind::kOptimisticLock && consumer.version) {
    return handlers::make_version_guard(*consumer.version, locks, decimals_of(build));
  }
  return handlers::RowGuard();
}

Result<ApplyHandler> apply_of(const ConsumerBuild& build) {
  if (build.consumer->apply) {
    return handlers::make_sql_apply(*build.consumer->apply, decimals_of(build));
  }
  const auto* native = std::get_if<config::NativeHandler>(&build.consumer->handler);
  if (native == nullptr) return ApplyHandler();
  const NativeWork* work = find_native(build, native->name);
  return work == nullptr ? ApplyHandler() : work->apply;
}

}  // namespace semel::compose
