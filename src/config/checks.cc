#include "config/checks.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/ascii.h"
#include "config/admin_build.h"
#include "config/check.h"
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
#include "config/scalars.h"
#include "config/sql_build.h"
#include "config/sqs_build.h"
#include "config/steps_build.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

using core::StrategyKind;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kShortLease{3};
constexpr minutes kLongTransaction{1};

bool is_sql(const ConsumerConfig& consumer) {
  return std::holds_alternative<SqlHandler>(consumer.handler);
}

bool has_transactions(const Check& check) { return traits_of(check.config.store).transactions; }

// The kind of a C++ handler is known only when it is registered; until then the strategy decides.
bool transactional(const ConsumerConfig& consumer, StrategyKind strategy) {
  const bool named = core::commits_with_handler(strategy);
  return is_sql(consumer) || (named && std::holds_alternative<NativeHandler>(consumer.handler));
}
bool transactional(const ConsumerConfig& consumer) {
  return transactional(consumer, consumer.strategy);
}

std::string legal_strategies(const Check& check) {
  std::vector<std::string_view> legal;
  for (const auto kind :
       {StrategyKind::kDedupTable, StrategyKind::kInbox, StrategyKind::kStateMachine,
        StrategyKind::kFence, StrategyKind::kAtMostOnce, StrategyKind::kNatural}) {
    if (!core::refuse_combination(kind, transactional(check.consumer, kind),
                                  has_transactions(check), false)) {
      legal.push_back(core::to_string(kind));
    }
  }
  return list_words(legal);
}

void check_store(const Check& check) {
  if (has_transactions(check)) return;
  // A store without transactions is Redis, which is durable, or memory.
  const bool durable = traits_of(check.config.store).durable;
  const bool queue = std::holds_alternative<QueueSource>(check.consumer.source);
  if (queue && !durable && !check.view.spoiled("source")) {
    auto& made = check.report.error(
        "E030", check.view.place("source"), check.path("source"),
        fmt::format("{}: the queue is a table of the store, and store memory has none",
                    check.path("source")));
    made.detail.push_back("what is sent by another process could never arrive");
    made.help = "store: { sqlite: { path: semel.db } }, or source: { file: … } or { stdin: {} }";
  }
  if (is_sql(check.consumer)) {
    auto& made = check.report.error(
        "E030", check.view.in("handler").place("sql"), check.path("handler.sql"),
        fmt::format("{}: statements run in the store's database, and store {}",
                    check.path("handler.sql"),
                    durable ? "redis has no transactions with other data" : "memory has none"));
    made.help = durable ? "store: { sqlite: … }, { postgres: … } or { mysql: … }; or handler: "
                          "{ exec: … }, { http: … } or { native: NAME }"
                        : "store: { sqlite: { path: semel.db } }, or handler: { native: NAME }";
  }
}

void check_strategy(const Check& check) {
  const auto& consumer = check.consumer;
  const bool store_said_it = !has_transactions(check) && is_sql(consumer);
  if (consumer.strategy == StrategyKind::kQuery && !is_sql(consumer))
    return;  // reported by check_query
  if (check.view.spoiled("strategy") || check.view.spoiled("unsafe") ||
      check.view.spoiled("handler") || store_said_it) {
    return;
  }
  const auto refused = core::refuse_combination(consumer.strategy, transactional(consumer),
                                                has_transactions(check), consumer.unsafe);
  if (refused) {
    auto& made = check.report.error("E030", check.view.place("strategy"), check.path("strategy"),
                                    fmt::format("{}: {}", check.path("strategy"), *refused));
    made.help =
        consumer.strategy == StrategyKind::kQuery && has_transactions(check)
            ? fmt::format("strategy: {}; or, knowingly, unsafe: true", legal_strategies(check))
            : "strategy: " + legal_strategies(check);
  }
}

void check_apply(const Check& check) {
  const auto& consumer = check.consumer;
  if (!consumer.apply || check.view.spoiled("strategy") || check.view.spoiled("handler")) return;
  const auto refused =
      core::refuse_two_parts(consumer.strategy, transactional(consumer), has_transactions(check));
  if (!refused) return;
  const View handler = check.view.in("handler");
  auto& made = check.report.error("E030", handler.place("apply"), handler.path("apply"),
                                  fmt::format("{}: {}", handler.path("apply"), *refused));
  made.help = is_sql(consumer)
                  ? "put all statements into handler.sql"
                  : "strategy: state_machine, on sqlite, postgres or mysql; or no apply";
}

void check_query(const Check& check) {
  const auto& consumer = check.consumer;
  const auto* look = check.view.in("query").find("exists");
  const bool query = consumer.strategy == StrategyKind::kQuery;
  if (check.view.spoiled("strategy") || check.view.spoiled("query") ||
      check.view.in("query").spoiled("exists")) {
    return;
  }
  if (!query && check.view.written("query")) {
    check.report
        .error("E038", check.view.place("query"), check.path("query"),
               fmt::format("{} belongs to strategy query, and this one is {}", check.path("query"),
                           core::to_string(consumer.strategy)))
        .help = "remove it";
    return;
  }
  if (!query || check.view.spoiled("handler")) return;
  if (!is_sql(consumer)) {
    check.report
        .error("E038", check.view.place("strategy"), check.path("strategy"),
               fmt::format("{}: strategy query looks with the params of handler.sql",
                           check.path("strategy")))
        .help = "use handler: { sql: … }, or another strategy";
  } else if (look == nullptr) {
    check.report
        .error("E038", check.view.place("strategy"), check.path("strategy"),
               fmt::format("{}: strategy query needs to know how it looks", check.path("strategy")))
        .help = "query: { exists: \"SELECT 1 FROM … WHERE id = :id\" }";
  } else {
    check_look(*look, std::get<SqlHandler>(consumer.handler).spec, check.report);
  }
}

// All other keys differ between copies of a message, or producers do not order by them.
void check_order(const Check& check) {
  const auto& order = check.consumer.order;
  if (!order || !order->key) return;
  const auto& what = order->key->what;
  using core::KeyPart;
  if (std::holds_alternative<KeyPart::JsonPart>(what) ||
      std::holds_alternative<KeyPart::HeaderPart>(what) ||
      std::holds_alternative<KeyPart::BrokerKeyPart>(what)) {
    return;
  }
  const View view = check.view.in("order");
  auto& made = check.report.error("E033", view.place("key"), view.path("key"),
                                  fmt::format("{}: {} tells messages apart; it orders none",
                                              view.path("key"), order->key->text));
  made.help = "key: json:/…, header:… or broker_key: what the messages of one order share";
}

void check_key_present(const Check& check) {
  const auto key = check.view.in("key");
  const auto* from = key.find("from");
  const bool spoiled = check.view.spoiled("key") || key.spoiled("from") || key.spoiled("missing") ||
                       check.view.spoiled("source") ||
                       check.view.settings().spoiled(check.view.path());
  const bool named = from != nullptr ? from->from != Setting::From::kDefault
                                     : !check.consumer.key.parts.empty() || key.size("from") > 0;
  const bool by_body = check.consumer.key.missing == core::KeyRecipe::Missing::kHashBody;
  if (named || by_body || spoiled) return;
  const auto place = check.view.written("key") ? check.view.place("key")
                                               : check.view.settings().place_of(check.view.path());
  const auto path = check.path("key");
  // Senders of HTTP requests use keys that standards name.
  if (on_http(check.consumer)) return;
  const bool rabbitmq = on_rabbitmq(check.consumer);
  const bool sqs = std::holds_alternative<SqsSource>(check.consumer.source);
  const bool nats = on_nats(check.consumer);
  const bool streams = on_redis_streams(check.consumer);
  const bool native = std::holds_alternative<NativeSource>(check.consumer.source);
  if (rabbitmq || nats || sqs || streams || native ||
      std::holds_alternative<QueueSource>(check.consumer.source)) {
    auto* made = check.warn(
        "W034", place, path,
        fmt::format("{} is missing: only messages sent with a key, or with one that a standard "
                    "names, are handled",
                    path));
    if (made == nullptr) return;
    made->detail.push_back("any other becomes a dead letter with reason key.missing");
    made->help =
        rabbitmq  ? "key: json:/your_id; or broker_key, the message-id that a producer sets; or "
                    "knowingly: key: auto"
        : nats    ? "key: json:/your_id; or broker_key, the Nats-Msg-Id that a producer sets; or "
                    "knowingly: key: auto"
        : sqs     ? "key: json:/your_id; or broker_key, the deduplication id of a FIFO queue; or "
                    "knowingly: key: auto"
        : streams ? "key: json:/your_id; or header:NAME, a field of the entry; or knowingly: key: "
                    "auto"
        : native  ? "key: json:/your_id; or broker_key, where the source sets one; or knowingly: "
                    "key: auto"
                  : "key: json:/your_id; or always: semel send --key; or knowingly: key: auto";
    return;
  }
  if (std::holds_alternative<KafkaSource>(check.consumer.source)) {
    return refuse_no_key_on_kafka(place, path, check.report);
  }
  const std::string source =
      std::holds_alternative<StdinSource>(check.consumer.source) ? "stdin" : "a file";
  auto& made = check.report.error(
      "E031", place, path, fmt::format("no key: {} is missing and {} carries none", path, source));
  made.detail.push_back("a message without a key cannot be told from its duplicate");
  made.help = "key: json:/your_id; or knowingly: key: { missing: hash_body }";
}

// Names of values that differ between two sendings of one message.
bool differs_each_time(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    plain += ascii::lower(c);
  }
  constexpr std::array kTold = {"time", "timestamp", "retries",   "sentat",    "receivedat",
                                "now",  "ts",        "createdat", "eventtime", "cetime"};
  constexpr std::array kEnds = {"attempt",       "attempts",  "retry",      "retrycount",
                                "deliverycount", "timestamp", "redelivered"};
  return std::find(kTold.begin(), kTold.end(), plain) != kTold.end() ||
         plain.starts_with("retry") ||
         std::any_of(kEnds.begin(), kEnds.end(), [&](auto end) { return plain.ends_with(end); });
}

void check_key_parts(const Check& check) {
  const auto from = check.path("key.from");
  for (std::size_t i = 0; i < check.view.settings().size(from); ++i) {
    const auto* setting = check.view.settings().find(join_path(from, i));
    if (setting == nullptr) continue;
    const auto cut = setting->text.find_last_of("/:");
    const auto name = std::string_view(setting->text).substr(cut + 1);
    if (differs_each_time(name)) {
      auto* made = check.warn("W032", setting->place, setting->path,
                              fmt::format("{}: {} sounds like something that differs each time",
                                          setting->path, in_quotes(setting->text)));
      if (made != nullptr) {
        made->detail.push_back(
            "a key must be the same on every send of the message: else its duplicate is new");
        made->help = "use the id that the producer gave it";
      }
    }
    if (setting->text == "position" && !on_rabbitmq(check.consumer) && !on_http(check.consumer)) {
      auto* made =
          check.warn("W033", setting->place, setting->path,
                     fmt::format("{}: a position names a copy, not an event", setting->path));
      if (made != nullptr) {
        made->detail.push_back("the same event, sent or written again, stands at another position");
        made->help = "use an id of the payload: json:/your_id";
      }
    }
  }
}

// For how long the source's broker keeps messages unless it was told otherwise; nullopt: no broker
// that this is known of.
std::optional<milliseconds> usual_horizon(const ConsumerConfig& consumer) {
  if (std::holds_alternative<KafkaSource>(consumer.source)) {
    return DedupConfig::kAutoTtlOnKafka / 2;
  }
  constexpr std::chrono::hours kUsualOnSqs{4 * 24};
  if (std::holds_alternative<SqsSource>(consumer.source)) return kUsualOnSqs;
  return std::nullopt;
}

// Only the broker knows its time, and a run asks it; the usual one is known here.
void warn_of_horizon(const Check& check) {
  const auto& consumer = check.consumer;
  const auto usual = usual_horizon(consumer);
  if (!usual || consumer.dedup.ttl != DedupConfig::Ttl::kFor || consumer.dedup.ttl_for >= *usual) {
    return;
  }
  auto* made = check.warn(
      "D102", check.view.in("dedup").place("ttl"), check.path("dedup.ttl"),
      fmt::format("{}: records may be forgotten before the broker forgets their messages",
                  check.path("dedup.ttl")));
  if (made == nullptr) return;
  made->detail.push_back(fmt::format(
      "ttl {} · a broker keeps messages for {} unless it was told otherwise: what is older than "
      "its record runs again when it is read again",
      show_duration(consumer.dedup.ttl_for.count()), show_duration(usual->count())));
  made->detail.emplace_back(
      "semel run asks the broker, and does not begin where it keeps them for longer than ttl");
  made->help = fmt::format("dedup.ttl: {}, or auto; or knowingly: accept: [D102]",
                           show_duration(usual->count()));
}

void check_ttl(const Check& check) {
  const auto& consumer = check.consumer;
  const auto dedup = check.view.in("dedup");
  if (consumer.dedup.ttl != DedupConfig::Ttl::kFor || dedup.spoiled("ttl") ||
      check.view.in("retry").spoiled("max_elapsed") || consumer.accept.contains("D102")) {
    return;
  }
  if (consumer.dedup.ttl_for >= consumer.retry.max_elapsed) return;
  auto& made = check.report.error(
      "D102", dedup.place("ttl"), check.path("dedup.ttl"),
      fmt::format("{}: a record may be forgotten while its message is still retried",
                  check.path("dedup.ttl")));
  made.detail.push_back(
      fmt::format("ttl {} · retry.max_elapsed {}: a duplicate that comes in between runs again",
                  show_duration(consumer.dedup.ttl_for.count()),
                  show_duration(consumer.retry.max_elapsed.count())));
  made.help = fmt::format("dedup.ttl: {}; or knowingly: accept: [D102]",
                          show_duration(consumer.retry.max_elapsed.count()));
}

void check_times(const Check& check) {
  const auto& consumer = check.consumer;
  const auto lease = check.view.in("dedup").find("lease");
  const bool leased = consumer.strategy == StrategyKind::kStateMachine ||
                      consumer.strategy == StrategyKind::kFence ||
                      consumer.strategy == StrategyKind::kAtMostOnce;
  if (lease != nullptr && leased && consumer.dedup.lease < kShortLease) {
    auto* made = check.warn("W041", lease->place, lease->path,
                            fmt::format("{}: a lease of {} ends in any short pause of the process",
                                        lease->path, show_duration(lease->number)));
    if (made != nullptr) {
      made->detail.push_back("then another worker runs the message too");
      made->help = "a lease says how soon a crash is taken over: seconds to minutes";
    }
  }
  const auto timeout = check.view.find("timeout");
  if (timeout != nullptr && transactional(consumer) && has_transactions(check) &&
      consumer.timeout > kLongTransaction) {
    const bool one_writer = traits_of(check.config.store).single_writer;
    auto* made = check.warn("W042", timeout->place, timeout->path,
                            fmt::format("{}: a handler may hold {} for {}", timeout->path,
                                        one_writer ? "the store's only write lock" : "row locks",
                                        show_duration(timeout->number)));
    if (made != nullptr) {
      made->detail.push_back(one_writer
                                 ? "everything else that writes to this database waits meanwhile"
                                 : "whatever else changes these rows waits meanwhile");
      made->help = "do the slow part outside of the transaction, with strategy state_machine";
    }
  }
  if (consumer.retry.attempts == 0 && consumer.retry.max_elapsed.count() == 0 &&
      check.view.in("retry").find("attempts") != nullptr &&
      check.view.in("retry").find("max_elapsed") != nullptr) {
    auto* made = check.warn("W035", check.view.in("retry").place("attempts"), check.path("retry"),
                            fmt::format("{}: no limit at all", check.path("retry")));
    if (made != nullptr) {
      made->detail.push_back("a message that always fails is tried for ever");
      made->help = "set attempts or max_elapsed";
    }
  }
}

void check_pace(const Check& check) {
  const auto& consumer = check.consumer;
  const auto* batch = check.view.in("batch").find("max");
  const auto* messages = check.view.in("in_flight").find("messages");
  if (batch == nullptr || messages == nullptr ||
      consumer.pace.batch_max <= consumer.pace.max_in_flight) {
    return;
  }
  auto* made =
      check.warn("W043", messages->place.line == 0 ? batch->place : messages->place, messages->path,
                 fmt::format("{} is {}: a batch of {} can never fill", messages->path,
                             messages->number, batch->number));
  if (made != nullptr) made->help = fmt::format("in_flight: {{ messages: {} }}", batch->number * 2);
}

}  // namespace

void check_consumer(const Config& config, const ConsumerConfig& consumer, const View& view,
                    Report& report) {
  const Check check{config, consumer, view, report};
  if (consumer.is_claimed()) {
    check_claimed(check);
    check_times(check);
    return;
  }
  check_store(check);
  check_strategy(check);
  check_apply(check);
  check_query(check);
  check_row_guards(config.store, consumer, view, report);
  if (const auto* exec = std::get_if<ExecHandler>(&consumer.handler)) {
    check_exec(exec->spec, view.in("handler").in("exec"), report);
  }
  check_key_present(check);
  check_order(check);
  check_defer(check);
  check_fence(check);
  check_remote(check);
  check_key_parts(check);
  check_masked_keys(config, consumer, view, report);
  check_ttl(check);
  check_front(consumer, view, report);
  check_times(check);
  check_pace(check);
  if (std::holds_alternative<HttpHandler>(consumer.handler)) {
    check_http(consumer, view.in("handler").in("http"), {}, report);
  }
  check_steps(consumer, view, report);
  check_kafka(consumer, view, report);
  check_rabbitmq(consumer, view, report);
  check_http_source(check);
  check_nats(consumer, view, report);
  check_redis_streams(consumer, view, report);
  check_sqs(consumer, view, report);
  check_publish(consumer, view, report);
  check_dialect(config.store, view, report);
}

void note_horizons(const Config& config, const Settings& settings, Report& notes) {
  for (std::size_t i = 0; i < config.consumers.size(); ++i) {
    const View view(settings, join_path("consumers", i));
    warn_of_horizon({config, config.consumers[i], view, notes});
  }
}

}  // namespace semel::config
