// The composition root: builds stores, sources, handlers and engines from a config. Only this and
// the program name adapters.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/guarantee.h>
#include <semel/handler.h>
#include <semel/observer.h>
#include <semel/runner.h>
#include <semel/schema_change.h>
#include <semel/spi/source.h>
#include <semel/spi/store.h>
#include <semel/sqlite.h>
#include <semel/step_spec.h>

#include "compose/store_look.h"
#include "config/config.h"
#include "config/difference.h"
#include "core/age_gate.h"
#include "core/retention.h"
#include "telemetry/delivery_metrics.h"
#include "telemetry/timed_store.h"

namespace semel::traces {
class Tracer;
}

namespace semel::compose {

class Traces;

struct OpenOptions {
  bool create = false;  // tables, and a file, where they are missing
  bool runs = false;    // consumers: it must notice new messages
  Environment* environment = nullptr;
  int stop_fd = -1;  // readable once the process is to stop
};
Result<std::unique_ptr<Store>> open_store(const config::StoreConfig& store,
                                          const OpenOptions& options);

// Returns what opening it with `create` would change in its tables; changes nothing.
Result<SchemaChange> schema_change(const config::StoreConfig& store);

// The SQL functions for consumers in any language. Errors: R274 for a store that has none.
enum class SqlFunctions { kMake, kDrop };
Result<void> change_functions(const config::StoreConfig& store, SqlFunctions change);
// The SQL that it would run on tables that are up to date; contacts no server.
Result<std::string> functions_sql(const config::StoreConfig& store, SqlFunctions change);

// Rows of the user's tables that violate a foreign key, on SQLite: reads them all. Servers have
// none.
Result<std::vector<SqliteFlaw>> standing_flaws(const config::StoreConfig& store);

// A setting that the client library of an adapter refuses, found without a server.
struct SettingFlaw {
  std::string path;  // consumers[0].source.kafka.properties.linger.mss
  Error error;
};
// Properties that librdkafka does not know, or whose values it refuses (R308); none where Kafka is
// not built.
std::vector<SettingFlaw> property_flaws(const config::Config& config);

// The store for people, without a password: "sqlite ./semel.db".
std::string store_name(const config::StoreConfig& store);

// A value that is equal in all processes that use this server's tables, and only there; empty for a
// store that is not on a server.
std::string server_identity(const config::StoreConfig& store);

// Throws SemelError whose message contains every error of the file.
config::Config loaded_or_throw(config::Loaded loaded);

// The consumer's number in the store, attached as `run` does.
Result<ConsumerNumber> attach(Store& store, const config::ConsumerConfig& consumer);
// The same if it is attached already; nullopt: it is not. Changes nothing in a shared store.
Result<std::optional<ConsumerNumber>> known_number(Store& store,
                                                   const config::ConsumerConfig& consumer);
// A dry run attaches nothing: no record, position or message is of a consumer with the number that
// it has for one that is not attached.
Result<ConsumerNumber> number_for_run(Store& store, const config::ConsumerConfig& consumer,
                                      bool dry_run);

// The error for an opened store that keeps no messages.
Error no_messages(const Store& store);

// How long the consumer's records are kept.
core::Retention retention_of(const config::ConsumerConfig& consumer);
// How old a message without a record may be; nullopt: any age.
std::optional<core::AgeLimit> age_limit_of(const config::ConsumerConfig& consumer);

// The guarantee that `check` prints, from the config alone. `server_was_asked`: `lowered` adds what
// the settings of the store's server risk.
Guarantee guarantee_of(const config::Config& config, const config::ConsumerConfig& consumer,
                       bool server_was_asked = false);

// A native handler of the program.
struct NativeWork {
  Handler handler;
  ApplyHandler apply;  // its second part; empty: none
};

struct ServiceOptions {
  std::map<std::string, NativeWork> natives;  // by the handler's name
  std::map<std::string, StepSpecs> steps;     // by the native handler's name
  std::map<std::string, FromOwn> sources;     // by the native source's name
  std::map<std::string, KeyFunction> keys;    // by consumer
  std::vector<Observer*> observers;           // borrowed
  bool once = false;
  bool dry_run = false;  // only report what would be handled: claims, handles and settles nothing
  Environment* environment = nullptr;
  // Readable once the process is to stop, even before there is a service. -1: none.
  int stop_fd = -1;
  // Measures the calls of handlers and of the store; null: not measured. Borrowed.
  telemetry::DeliveryMetrics* delivery_metrics = nullptr;
  telemetry::StoreMetrics* store_metrics = nullptr;
  // Traces deliveries, handlers and the store, and provides metrics of that; null: not traced.
  // Borrowed.
  traces::Tracer* tracer = nullptr;
  const Traces* run_traces = nullptr;
  // Called for a hanging handler, directly before the process ends, on any thread; empty: a line on
  // stderr.
  std::function<void(std::string_view consumer, const Error& error)> on_hung;
  // Called once, instead of ending the process: the host decides. Empty: the process ends.
  std::function<void(std::string_view consumer, const Error& error)> instead_of_end;
  // Called when a consumer's phase has changed. On threads of the service; may be empty.
  std::function<void()> on_phase;
  // Called for each consumer that a reload has removed, once it has ended and no other has its
  // name; with the service locked, so it must not call the service. May be empty.
  std::function<void(const std::string& consumer)> on_gone;
};

// Exit code of a run whose store, source or handler is not available.
inline constexpr int kExitUnavailable = 69;
// Exit code of a run that this error keeps from beginning, or ends for good.
int exit_code_of_run(const Error& error);

// All consumers of a config, running. Thread-safe, except run.
class Service {
 public:
  static Result<std::unique_ptr<Service>> build(const config::Config& config,
                                                ServiceOptions options);
  virtual ~Service() = default;
  // Runs until stopped, or, with `once`, until nothing is left to do; drains; returns an exit code.
  virtual int run() = 0;
  // The error that ended the run and that no waiting mends: of a source, or of a key under
  // `missing: fail`. nullopt where it ended otherwise. Call after run.
  [[nodiscard]] virtual std::optional<Error> final_error() const = 0;
  // Settings of the store's server that weaken the promise: "synchronous_commit = off: …".
  virtual const std::vector<std::string>& risks() const noexcept = 0;
  struct Figures {
    std::string consumer;
    std::string source;  // "kafka"; or "front": the window before the consumer's records
    std::vector<SourceFigure> figures;
    bool tells_lag = false;  // SourceTraits::tells_lag
  };
  // The figures of sources that have some, or tell their lag, and of front windows.
  virtual std::vector<Figures> figures() = 0;
  // Deliveries received and not settled, by consumer.
  virtual std::vector<std::pair<std::string, std::size_t>> in_flight() const = 0;
  // Begins the drain; a second call hurries it.
  virtual void stop() noexcept = 0;
  // Whether the drain has begun.
  virtual bool is_stopping() const noexcept = 0;
  // The store of its consumers.
  virtual Store& store() noexcept = 0;
  // Statistics and shut gates of the store's consumers; nullopt where the store keeps none. Takes
  // as long as the store's answer.
  virtual Result<std::optional<StoreSnapshot>> look_at_store() = 0;

  // A consumer's phase in this process. kDraining: it finishes its deliveries, and receives no
  // others; then it restarts, or is kDrained until it is resumed, or is removed.
  enum class Phase { kStarting, kRunning, kDraining, kDrained, kOver };
  virtual std::vector<std::pair<std::string, Phase>> phases() const = 0;
  // Drains a consumer, until it is resumed or the process ends, also across reloads. False: it was
  // drained already. Returns immediately. Errors: R343 for an unknown name; R358 where its source's
  // messages cannot be given back, where clients claim from it, and in a run that ends by itself.
  virtual Result<bool> drain(std::string_view consumer) = 0;
  // False: it was not drained.
  virtual Result<bool> resume(std::string_view consumer) = 0;

  // Checks the consumers that `difference` names as a start with `next` would; changes nothing.
  // Asks the store, and brokers for some seconds each. Errors: those of build; R357 for a run that
  // ends by itself.
  virtual Result<void> check(const config::Config& next, const config::Difference& difference) = 0;
  // Switches to `next`: unchanged consumers continue, the others are drained, and each restarts
  // once it is drained. Returns immediately; false: the run is ending.
  virtual bool take(std::shared_ptr<const config::Config> next,
                    const config::Difference& difference) = 0;
  // The consumers that are not yet in the state that the newest config and people ask for.
  virtual std::vector<std::string> unsettled() const = 0;
};

}  // namespace semel::compose
