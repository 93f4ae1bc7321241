#include "config/build.h"

#include <utility>

#include <fmt/format.h>

#include "config/admin_build.h"
#include "config/checks.h"
#include "config/exec_build.h"
#include "config/front_build.h"
#include "config/http_build.h"
#include "config/http_source_build.h"
#include "config/kafka_build.h"
#include "config/nats_build.h"
#include "config/node.h"
#include "config/publish_build.h"
#include "config/rabbitmq_build.h"
#include "config/redis_streams_build.h"
#include "config/row_guard_build.h"
#include "config/sql_build.h"
#include "config/sqs_build.h"
#include "config/steps_build.h"
#include "config/store_build.h"
#include "config/traces_build.h"

namespace semel::config {
namespace {

SourceConfig build_source(const View& source, const std::string& folder, Report& report) {
  if (source.written("queue")) return QueueSource{};
  if (source.written("file")) {
    FileSource file;
    source.in("file").fill(file.spec);
    file.spec.path = resolve_path(folder, file.spec.path);
    return file;
  }
  if (source.written("http")) {
    return HttpSource{build_http_source(source.in("http"), folder, report)};
  }
  if (source.written("kafka")) return KafkaSource{build_kafka(source.in("kafka"), report)};
  if (source.written("rabbitmq")) {
    return RabbitmqSource{build_rabbitmq(source.in("rabbitmq"), folder, report)};
  }
  if (source.written("nats")) return NatsSource{build_nats(source.in("nats"), folder, report)};
  if (source.written("claims")) return ClaimsSource{};
  if (source.written("redis_streams")) {
    return RedisStreamsSource{build_redis_streams(source.in("redis_streams"), report)};
  }
  if (source.written("sqs")) return SqsSource{build_sqs(source.in("sqs"), folder, report)};
  if (source.find("native") != nullptr) return NativeSource{source.text("native")};
  return StdinSource{};
}

json::Pointer pointer_of(const std::string& text) {
  constexpr std::string_view kPrefix = "json:";
  return json::Pointer::parse(std::string_view(text).substr(kPrefix.size())).value();
}

core::KeyRecipe build_key(const View& key) {
  core::KeyRecipe made;
  const auto& settings = key.settings();
  if (const auto* word = key.find("from")) {
    made.parts.push_back(core::KeyPart::parse(word->text).value());
  }
  for (std::size_t i = 0; i < settings.size(key.path("from")); ++i) {
    const auto* part = settings.find(join_path(key.path("from"), i));
    if (part != nullptr) made.parts.push_back(core::KeyPart::parse(part->text).value());
  }
  key.fill(made);
  for (std::size_t i = 0; i < settings.size(key.path("fingerprint")); ++i) {
    const auto* field = settings.find(join_path(key.path("fingerprint"), i));
    if (field != nullptr) made.fingerprint_fields.push_back(pointer_of(field->text));
  }
  if (!made.fingerprint_fields.empty()) made.fingerprint = core::KeyRecipe::FingerprintOf::kFields;
  return made;
}

std::optional<core::Order> build_order(const View& view) {
  if (!view.written("order")) return std::nullopt;
  const View order = view.in("order");
  core::Order made;
  order.fill(made);
  if (const auto* key = order.find("key")) {
    if (auto part = core::KeyPart::parse(key->text)) made.key = *std::move(part);
  }
  return made;
}

HandlerConfig build_handler(const View& view, const std::string& folder, const SourceConfig& source,
                            Report& report) {
  const auto handler = view.in("handler");
  if (handler.written("http")) return HttpHandler{build_http(handler.in("http"), folder, report)};
  if (handler.written("sql")) return SqlHandler{build_sql(handler.in("sql"), report)};
  if (handler.written("exec")) {
    return ExecHandler{build_exec(handler.in("exec"), view, folder, source)};
  }
  if (handler.written("steps")) return build_steps(view, folder, source, report);
  if (handler.written("kafka")) {
    return KafkaHandler{build_kafka_publish(handler.in("kafka"), report)};
  }
  if (handler.written("rabbitmq")) {
    return RabbitmqHandler{build_rabbitmq_publish(handler.in("rabbitmq"), folder, report)};
  }
  if (handler.written("redis_streams")) {
    return RedisStreamsHandler{build_redis_streams_publish(handler.in("redis_streams"), report)};
  }
  if (handler.written("sns")) {
    return SnsHandler{build_sns_publish(handler.in("sns"), folder, report)};
  }
  if (handler.written("sqs")) {
    return SqsHandler{build_sqs_publish(handler.in("sqs"), folder, report)};
  }
  if (handler.written("nats")) {
    return NatsHandler{build_nats_publish(handler.in("nats"), folder, report)};
  }
  return NativeHandler{handler.find("native") != nullptr ? handler.text("native")
                                                         : view.text("name")};
}

// The default strategy. A C++ handler may select another one by its signature.
core::StrategyKind strategy_for(const HandlerConfig& handler, const StoreConfig& store) {
  // After a crash during a call to a service, work must continue without a redelivery, so the
  // call's data must outlive the process.
  if (traits_of(store).durable && std::holds_alternative<HttpHandler>(handler))
    return core::StrategyKind::kFence;
  return core::default_strategy(std::holds_alternative<SqlHandler>(handler));
}

ConsumerConfig build_consumer(const View& view, const std::string& folder, const StoreConfig& store,
                              Report& report) {
  ConsumerConfig made;
  view.fill(made);
  made.where = {view.settings().place_of(view.path()).line,
                view.settings().place_of(view.path()).column};
  made.source = build_source(view.in("source"), folder, report);
  made.key = build_key(view.in("key"));
  made.handler = build_handler(view, folder, made.source, report);
  const auto apply = view.in("handler").in("apply");
  if (view.in("handler").written("apply")) made.apply = build_sql(apply.in("sql"), report);
  const auto* strategy = view.find("strategy");
  made.strategy_named = strategy != nullptr && strategy->from == Setting::From::kWritten;
  const auto named = core::strategy_from(view.text("strategy"));
  made.strategy = named.value_or(strategy_for(made.handler, store));
  if (const auto* look = view.in("query").find("exists")) made.look = look->text;
  build_row_guards(made, view, report);
  view.in("dedup").fill(made.dedup);
  made.front = build_front(view, report);
  view.in("retry").fill(made.retry);
  made.order = build_order(view);
  if (!made.order) made.order = order_of_sqs(made.source);
  view.in("batch").fill(made.pace);
  view.in("in_flight").fill(made.pace);
  view.in("limits").fill(made.limits);
  complete_http(made, view);
  complete_http_source(made, view);
  complete_steps(made, view);
  complete_publish(made);
  for (std::size_t i = 0; i < view.size("publish"); ++i) {
    const auto* to = view.settings().find(join_path(view.path("publish"), i));
    if (to != nullptr) made.publish.push_back(to->text);
  }
  if (const auto* to = view.in("dead_letter").find("copy_to")) made.copy_dead_letters = to->text;
  if (view.in("dead_letter").find("expire") != nullptr) {
    made.dead_letters_expire = view.in("dead_letter").duration("expire");
  }
  for (std::size_t i = 0; i < view.settings().size(view.path("accept")); ++i) {
    const auto* word = view.settings().find(join_path(view.path("accept"), i));
    if (word != nullptr) made.accept.insert(word->text);
  }
  return made;
}

}  // namespace

std::string View::path(std::string_view name) const { return join_path(path_, name); }

std::int64_t View::number(std::string_view name) const {
  const auto* setting = find(name);
  return setting == nullptr ? 0 : setting->number;
}

std::size_t View::size(std::string_view name) const { return settings_.size(path(name)); }

std::string View::text(std::string_view name) const {
  const auto* setting = find(name);
  return setting == nullptr ? std::string() : setting->text;
}

void View::put_into(const std::type_info& type, void* object) const {
  settings_.each_in(path_, [&](const Setting& setting) {
    const Member* const member = setting.field->member;
    if (member != nullptr && *member->owner == type) member->put(setting, object);
  });
}

Config build(const Settings& settings, const std::string& folder, Report& report,
             const StoreConfig* store) {
  const View root(settings, "");
  Config made;
  made.file = report.name(0);
  root.fill(made);
  made.store = build_store(root.in("store"), folder, report);
  if (store != nullptr) made.store.kind = store->kind;
  made.admin = build_admin(root, folder, report);
  made.traces = build_traces(root, folder, report);
  for (std::size_t i = 0; i < settings.size("consumers"); ++i) {
    const View view(settings, join_path("consumers", i));
    if (!settings.written(view.path())) continue;
    made.consumers.push_back(build_consumer(view, folder, made.store, report));
    check_consumer(made, made.consumers.back(), view, report);
  }
  check_together(settings, report);
  check_outbox(made, settings, report);
  check_claims(made, settings, report);
  return made;
}

}  // namespace semel::config
