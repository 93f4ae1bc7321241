#include "config/build.h"

#include <utility>

#include <fmt/format.h>

#include "config/admin_build.h"
#include "config/checks.h"
#include "config/exec_build.h"
#include "config/front_build.h"
#include "config/http_build.h"
#include "config/kafka_build.h"
#include "config/node.h"
#include "config/publish_build.h"
#include "config/rabbitmq_build.h"
#include "config/row_guard_build.h"
#include "config/sql_build.h"
#include "config/steps_build.h"
#include "config/store_build.h"

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
  if (source.written("kafka")) return KafkaSource{build_kafka(source.in("kafka"), report)};
  if (source.written("rabbitmq")) {
    return RabbitmqSource{build_rabbitmq(source.in("rabbitmq"), folder, report)};
  }
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
  made.join = key.flag("join");
  if (key.text("missing") == "fail") made.missing = core::KeyRecipe::Missing::kFail;
  if (key.text("missing") == "hash_body") made.missing = core::KeyRecipe::Missing::kHashBody;
  if (const auto* word = key.find("fingerprint")) {
    made.fingerprint = word->text == "none"   ? core::KeyRecipe::FingerprintOf::kNone
                       : word->text == "json" ? core::KeyRecipe::FingerprintOf::kJson
                                              : core::KeyRecipe::FingerprintOf::kBody;
    return made;
  }
  for (std::size_t i = 0; i < settings.size(key.path("fingerprint")); ++i) {
    const auto* field = settings.find(join_path(key.path("fingerprint"), i));
    if (field != nullptr) made.fingerprint_fields.push_back(pointer_of(field->text));
  }
  if (!made.fingerprint_fields.empty()) made.fingerprint = core::KeyRecipe::FingerprintOf::kFields;
  return made;
}

DedupConfig build_dedup(const View& dedup) {
  DedupConfig made;
  made.lease = dedup.duration("lease");
  const auto* ttl = dedup.find("ttl");
  if (ttl == nullptr || ttl->text == "auto") return made;
  made.ttl = ttl->text == "keep" ? DedupConfig::Ttl::kKeep : DedupConfig::Ttl::kFor;
  made.ttl_for = milliseconds(ttl->number);
  return made;
}

RetryPolicy build_retry(const View& retry) {
  RetryPolicy made;
  made.attempts = static_cast<int>(retry.number("attempts"));
  if (const auto* backoff = retry.find("backoff")) {
    made.first = milliseconds(backoff->number);
    made.longest = milliseconds(backoff->upper);
  }
  if (const auto* jitter = retry.find("jitter")) made.jitter = jitter->real;
  made.max_elapsed = retry.duration("max_elapsed");
  made.crashes = static_cast<int>(retry.number("crashes"));
  return made;
}

std::optional<core::Order> build_order(const View& view) {
  if (!view.written("order")) return std::nullopt;
  using OnFailure = core::Order::OnFailure;
  const View order = view.in("order");
  core::Order made;
  if (const auto* key = order.find("key")) {
    if (auto part = core::KeyPart::parse(key->text)) made.key = *std::move(part);
  }
  const std::string word = order.text("on_failure");
  if (word == "block") made.on_failure = OnFailure::kBlock;
  if (word == "skip") made.on_failure = OnFailure::kSkip;
  made.most_held = static_cast<std::size_t>(order.number("max_held"));
  return made;
}

void build_pace(ConsumerConfig& made, const View& view) {
  const auto* concurrency = view.find("concurrency");
  if (concurrency != nullptr && !concurrency->word) {
    made.concurrency = static_cast<int>(concurrency->number);
  }
  made.batch_max = static_cast<std::size_t>(view.in("batch").number("max"));
  made.batch_target = view.in("batch").duration("target_time");
  made.timeout = view.duration("timeout");
  const auto limits = view.in("limits");
  made.limits.key = static_cast<std::size_t>(limits.number("key"));
  made.limits.payload = static_cast<std::size_t>(limits.number("payload"));
  made.limits.headers = static_cast<std::size_t>(limits.number("headers"));
  made.limits.result = static_cast<std::size_t>(limits.number("result"));
  made.max_in_flight = static_cast<std::size_t>(view.in("in_flight").number("messages"));
  made.max_in_flight_bytes = static_cast<std::size_t>(view.in("in_flight").number("bytes"));
  made.max_held = static_cast<std::size_t>(view.in("in_flight").number("held"));
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
  return NativeHandler{handler.find("native") != nullptr ? handler.text("native")
                                                         : view.text("name")};
}

// Where none is named. A C++ handler may bring another one, with what it takes.
core::StrategyKind strategy_for(const HandlerConfig& handler, const StoreConfig& store) {
  // Who calls a service and dies is to go on without a redelivery: what is to be called for must
  // outlive the process.
  if (traits_of(store).durable && std::holds_alternative<HttpHandler>(handler))
    return core::StrategyKind::kFence;
  return core::default_strategy(std::holds_alternative<SqlHandler>(handler));
}

ConsumerConfig build_consumer(const View& view, const std::string& folder, const StoreConfig& store,
                              Report& report) {
  ConsumerConfig made;
  made.name = view.text("name");
  made.where = {view.settings().place_of(view.path()).line,
                view.settings().place_of(view.path()).column};
  made.source = build_source(view.in("source"), folder, report);
  made.key = build_key(view.in("key"));
  if (view.text("empty") == "dead_letter") made.empty = core::EmptyPayload::kDeadLetter;
  if (view.text("empty") == "discard") made.empty = core::EmptyPayload::kDiscard;
  made.handler = build_handler(view, folder, made.source, report);
  const auto apply = view.in("handler").in("apply");
  if (view.in("handler").written("apply")) made.apply = build_sql(apply.in("sql"), report);
  made.unsafe = view.flag("unsafe");
  const auto* strategy = view.find("strategy");
  made.strategy_named = strategy != nullptr && strategy->from == Setting::From::kWritten;
  const auto named = core::strategy_from(view.text("strategy"));
  made.strategy = named.value_or(strategy_for(made.handler, store));
  if (const auto* look = view.in("query").find("exists")) made.look = look->text;
  build_row_guards(made, view, report);
  made.dedup = build_dedup(view.in("dedup"));
  made.front = build_front(view, report);
  made.retry = build_retry(view.in("retry"));
  made.order = build_order(view);
  if (view.text("defer") == "here") made.defer = ConsumerConfig::Defer::kHere;
  if (view.text("defer") == "elsewhere") made.defer = ConsumerConfig::Defer::kElsewhere;
  build_pace(made, view);
  complete_http(made, view);
  complete_steps(made, view);
  complete_publish(made);
  for (std::size_t i = 0; i < view.size("publish"); ++i) {
    const auto* to = view.settings().find(join_path(view.path("publish"), i));
    if (to != nullptr) made.publish.push_back(to->text);
  }
  if (const auto* to = view.in("dead_letter").find("copy_to")) made.copy_dead_letters = to->text;
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

Config build(const Settings& settings, const std::string& folder, Report& report) {
  const View root(settings, "");
  Config made;
  made.file = report.name(0);
  made.drain_timeout = root.duration("drain_timeout");
  made.store = build_store(root.in("store"), folder, report);
  made.admin = build_admin(root, report);
  for (std::size_t i = 0; i < settings.size("consumers"); ++i) {
    const View view(settings, join_path("consumers", i));
    if (!settings.written(view.path())) continue;
    made.consumers.push_back(build_consumer(view, folder, made.store, report));
    check_consumer(made, made.consumers.back(), view, report);
  }
  check_together(settings, report);
  check_outbox(made, settings, report);
  return made;
}

}  // namespace semel::config
