// A config of consumers, validated and typed. It knows adapters only by their settings.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <semel/front.h>
#include <semel/memory.h>
#include <semel/mysql.h>
#include <semel/postgres.h>
#include <semel/redis.h>
#include <semel/retry_policy.h>
#include <semel/spi/source.h>
#include <semel/spi/store.h>
#include <semel/sqlite.h>

#include "base/listen_address.h"
#include "config/adapters.h"
#include "core/age_gate.h"
#include "core/disclosure.h"
#include "core/exec_spec.h"
#include "core/file_spec.h"
#include "core/guarantee.h"
#include "core/http_source_spec.h"
#include "core/http_spec.h"
#include "core/kafka_publish_spec.h"
#include "core/kafka_spec.h"
#include "core/key_recipe.h"
#include "core/nats_publish_spec.h"
#include "core/nats_spec.h"
#include "core/order.h"
#include "core/pace.h"
#include "core/rabbitmq_publish_spec.h"
#include "core/rabbitmq_spec.h"
#include "core/redis_streams_publish_spec.h"
#include "core/redis_streams_spec.h"
#include "core/role.h"
#include "core/sql_spec.h"
#include "core/sqs_publish_spec.h"
#include "core/sqs_spec.h"
#include "core/traces_spec.h"

namespace semel::config {

using std::chrono::milliseconds;

struct Location {
  int line = 0;  // from 1; 0: the whole file
  int column = 0;
};

struct Diagnostic {
  enum class Severity { kError, kWarning };
  Severity severity = Severity::kError;
  std::string code;     // E012
  std::string message;  // in the user's words
  std::string path;     // consumers[0].handler.sql
  std::string file;
  Location where;
  std::string excerpt;              // the line, with a marker below it; may be empty
  std::vector<std::string> detail;  // further lines: why it matters, other places
  std::string help;                 // one concrete change
};

// A store that the program has opened; borrowed. Only a config made in code has it.
struct OpenStore {
  Store* store = nullptr;
};

// How to open the store, except what only a process knows: environment, `create`, `stop_fd`.
struct StoreConfig {
  enum class OnUnavailable { kPause, kFail };
  std::variant<SqliteOptions, PostgresOptions, MySqlOptions, RedisOptions, MemoryOptions, OpenStore>
      kind;
  OnUnavailable on_unavailable = OnUnavailable::kPause;
};

// Its traits, as far as known before it is opened.
StoreTraits traits_of(const StoreConfig& store) noexcept;

struct QueueSource {};
struct FileSource {
  core::FileSpec spec;
};
struct HttpSource {
  core::HttpSourceSpec spec;
};
struct KafkaSource {
  core::KafkaSpec spec;
};
struct NatsSource {
  core::NatsSpec spec;
};
struct RabbitmqSource {
  core::RabbitmqSpec spec;
};
struct RedisStreamsSource {
  core::RedisStreamsSpec spec;
};
struct SqsSource {
  core::SqsSpec spec;
};
struct StdinSource {};
// A source of the program's own.
struct NativeSource {
  std::string name;                       // registered in C++ under this name
  SourceTraits traits{.name = "native"};  // as registered; before that, the most cautious ones
};
// Delivers nothing: clients claim keys of their own through the API, and do the work.
struct ClaimsSource {};
using SourceConfig =
    std::variant<QueueSource, FileSource, HttpSource, KafkaSource, NatsSource, RabbitmqSource,
                 RedisStreamsSource, SqsSource, StdinSource, NativeSource, ClaimsSource>;
// "queue", "file", "http", "kafka", "nats", "rabbitmq", "redis_streams", "sqs", "stdin", "native",
// "claims"
std::string_view name_of(const SourceConfig& source) noexcept;

struct SqlHandler {
  core::SqlSpec spec;
};
struct ExecHandler {
  core::ExecSpec spec;
};
struct HttpHandler {
  core::HttpSpec spec;
};
struct KafkaHandler {
  core::KafkaPublishSpec spec;
};
struct RabbitmqHandler {
  core::RabbitmqPublishSpec spec;
};
struct RedisStreamsHandler {
  core::RedisStreamsPublishSpec spec;
};
struct SqsHandler {
  core::SqsPublishSpec spec;
};
struct SnsHandler {
  core::SnsPublishSpec spec;
};
struct NatsHandler {
  core::NatsPublishSpec spec;
};
struct NativeHandler {
  std::string name;  // registered in C++ under this name
};
using StepCall = std::variant<HttpHandler, ExecHandler>;
// `answers`: its body includes the answers of earlier steps, or that of the undone step.
struct StepConfig {
  std::string name;
  StepCall call;
  bool answers = false;
  std::optional<StepCall> undo;
  bool undo_answers = false;
};
struct StepsHandler {
  std::vector<StepConfig> steps;
};
using HandlerConfig =
    std::variant<SqlHandler, ExecHandler, HttpHandler, KafkaHandler, NatsHandler, RabbitmqHandler,
                 RedisStreamsHandler, SnsHandler, SqsHandler, NativeHandler, StepsHandler>;
// "sql", "exec", "http", "kafka", "nats", "rabbitmq", "redis_streams", "sns", "sqs", "native",
// "steps"
std::string_view name_of(const HandlerConfig& handler) noexcept;
// Its effect is never in the store's database.
inline bool acts_outside(const HandlerConfig& handler) {
  return !std::holds_alternative<SqlHandler>(handler) &&
         !std::holds_alternative<NativeHandler>(handler);
}
// Sends messages on to a broker.
inline bool publishes(const HandlerConfig& handler) {
  return std::holds_alternative<KafkaHandler>(handler) ||
         std::holds_alternative<NatsHandler>(handler) ||
         std::holds_alternative<RabbitmqHandler>(handler) ||
         std::holds_alternative<RedisStreamsHandler>(handler) ||
         std::holds_alternative<SnsHandler>(handler) || std::holds_alternative<SqsHandler>(handler);
}

struct DedupConfig {
  enum class Ttl { kAuto, kKeep, kFor };
  Ttl ttl = Ttl::kAuto;
  milliseconds ttl_for{0};
  core::TooOld too_old = core::TooOld::kPark;
  milliseconds lease = ClaimOptions().lease;
  // `auto` where the source's horizon is not known.
  static constexpr std::chrono::hours kAutoTtl{7 * 24};
  // Twice a broker's default retention.ms and segment.ms, which together are its horizon.
  static constexpr std::chrono::hours kAutoTtlOnKafka{28 * 24};
  // Twice the longest retention of an SQS queue.
  static constexpr std::chrono::hours kAutoTtlOnSqs{28 * 24};
};

// A window in front of the records, which only answers that a key is completed.
using FrontConfig = std::variant<MemoryFrontOptions, RedisFrontOptions>;
milliseconds ttl_of(const FrontConfig& front) noexcept;

struct ConsumerConfig {
  std::string name;
  SourceConfig source;
  core::KeyRecipe key;
  core::EmptyPayload empty = core::EmptyPayload::kHandle;
  core::StrategyKind strategy{};
  bool strategy_named = false;  // false: chosen by default_strategy
  bool unsafe = false;
  std::optional<std::string>
      look;  // strategy query: a SELECT with the handler's params; a row means done
  std::optional<core::LockSpec> lock;        // strategy pessimistic_lock
  std::optional<core::VersionSpec> version;  // strategy optimistic_lock
  DedupConfig dedup;
  std::optional<FrontConfig> front;
  RetryPolicy retry;
  std::optional<core::Order> order;
  enum class Defer { kNever, kHere, kElsewhere };
  Defer defer = Defer::kNever;
  std::optional<int> concurrency;  // nullopt: depends on store and handler
  core::Pace pace;
  milliseconds timeout = core::kUsualTimeout;  // of one call; an exec handler's own is in its spec
  core::Limits limits;
  HandlerConfig handler;
  std::optional<core::SqlSpec> apply;  // the second part of a two-part handler
  // Consumers of the same file whose source is the queue: those that get each message that is done,
  // and the one that gets a copy of each dead letter.
  std::vector<std::string> publish;
  std::optional<std::string> copy_dead_letters;
  std::optional<milliseconds> dead_letters_expire;  // nullopt: they are kept
  std::set<std::string> accept;  // codes and names accepted knowingly: "key_recipe", "D102"
  Location where;

  // Its work is done elsewhere, by clients of the API.
  bool is_claimed() const noexcept { return std::holds_alternative<ClaimsSource>(source); }
};

// As name_of its handler; "clients" where clients claim from it.
std::string handler_name(const ConsumerConfig& consumer);

struct AdminToken {
  std::string name;
  std::string secret;
  core::Role role = core::Role::kRead;
  std::vector<std::string> claims;  // consumers whose keys its holder may claim

  bool operator==(const AdminToken&) const = default;
};
// Files in PEM format.
struct AdminTls {
  std::string certificate;
  std::string key;
};
// A Unix socket, and what its callers may do without a token.
struct AdminSocket {
  std::string path;
  bool group = false;              // mode 0660 in place of 0600
  std::optional<core::Role> role;  // none: no more than on TCP
  std::vector<std::string> claims;
};
struct AdminConfig {
  std::optional<ListenAddress> listen;  // none: the socket alone
  std::optional<AdminSocket> socket;
  std::optional<AdminTls> tls;  // none: plain HTTP
  std::vector<AdminToken> tokens;
  core::Disclosure shows;
};

// A value in effect, as `config show` prints it.
struct EffectiveValue {
  std::string path;
  std::string value;   // secrets redacted
  std::string origin;  // "semel.yaml:4:3", "--set", "default"
  // Digest of a value that is not shown completely, to detect changes; else empty.
  std::string hidden = {};
  Location where = {};  // in the file; the whole file where it is not written there
};

struct Config {
  std::string file;
  StoreConfig store;
  std::optional<AdminConfig> admin;
  std::optional<core::TracesSpec> traces;
  std::vector<ConsumerConfig> consumers;
  milliseconds drain_timeout = core::kUsualDrainTimeout;
  std::vector<EffectiveValue> effective;
  const ConsumerConfig* find(std::string_view consumer) const;
};

struct LoadOptions {
  // Looks up ${X}; default: the process environment.
  std::function<std::optional<std::string>(const std::string&)> env;
  std::vector<std::string> sets;  // PATH=VALUE, overriding the file
  bool interpolate = true;
  // Accepts a config of the store alone: no `consumers`, or an empty list.
  bool consumers_optional = false;
  // By their CMake options' names: a config that names one of these is refused.
  std::vector<std::string_view> missing_adapters = config::missing_adapters();
};

struct Loaded {
  std::optional<Config> config;  // nullopt where there is an error
  std::vector<Diagnostic> diagnostics;
  // The effective values, one line each.
  std::vector<EffectiveValue> effective;
  // Findings that are useful for `check` alone: effects that only the record keeps from happening
  // again, and a ttl that may be short for the broker. Silenced by the consumer's `accept`.
  std::vector<Diagnostic> notes;
};

Loaded load_file(const std::string& path, const LoadOptions& options = {});
Loaded load_text(std::string_view yaml, const std::string& name, const LoadOptions& options = {});
// A config made by a program: PATH=VALUE each, as in LoadOptions::sets, without variables; and the
// options of its store. Paths of files are relative to the working directory.
Loaded load_values(const std::vector<std::string>& values, const StoreConfig& store);
// The same without consumers, which are added later: a value that is one's is an error.
Loaded load_settings(const std::vector<std::string>& values, const StoreConfig& store);

// "error[E012] …  semel.yaml:4:3" with excerpt and fix below it, for a terminal. Ends with a
// newline.
std::string format(const Diagnostic& diagnostic, bool color);

// How long a consumer's records are kept: nullopt for `keep`.
std::optional<milliseconds> effective_ttl(const ConsumerConfig& consumer);

}  // namespace semel::config
