// The composition root: builds stores, sources, handlers and engines from a config. The only place,
// beside the program, that names adapters.
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
  bool runs = false;    // consumers: it has to hear of new messages
  Environment* environment = nullptr;
  int stop_fd = -1;  // readable once the process is to stop
};
Result<std::unique_ptr<Store>> open_store(const config::StoreConfig& store,
                                          const OpenOptions& options);

// What opening it with `create` would do to its tables; it only looks.
Result<SchemaChange> schema_change(const config::StoreConfig& store);

// The SQL functions for consumers in any language. Errors: R274 for a store that has none.
enum class SqlFunctions { kMake, kDrop };
Result<void> change_functions(const config::StoreConfig& store, SqlFunctions change);
// The SQL that it would run on tables that are up to date; no server is asked.
Result<std::string> functions_sql(const config::StoreConfig& store, SqlFunctions change);

// Rows of the user's tables that break a foreign key already, on SQLite: reads them all. A server
// has none.
Result<std::vector<SqliteFlaw>> standing_flaws(const config::StoreConfig& store);

// The store as people name it, without a password: "sqlite ./semel.db".
std::string store_name(const config::StoreConfig& store);

// What is the same in all processes that use this server's tables, and in no other; empty for a
// store that is no server's.
std::string server_identity(const config::StoreConfig& store);

// Throws SemelError whose message holds every error of the file.
config::Config loaded_or_throw(config::Loaded loaded);

// The consumer's number in the store, as `run` would have it.
Result<ConsumerNumber> attach(Store& store, const config::ConsumerConfig& consumer);
// The same where it is attached already; nullopt: it is not. Changes nothing in a store that others
// see.
Result<std::optional<ConsumerNumber>> known_number(Store& store,
                                                   const config::ConsumerConfig& consumer);
// A dry run attaches nothing: no record, position or message is of a consumer with the number that
// it has for one that is not attached.
Result<ConsumerNumber> number_for_run(Store& store, const config::ConsumerConfig& consumer,
                                      bool dry_run);

// Of an opened store that keeps none: what is said of it.
Error no_messages(const Store& store);

// What it promises of how long its records are kept.
core::Retention retention_of(const config::ConsumerConfig& consumer);

// What `check` prints, from the config alone.
Guarantee guarantee_of(const config::Config& config, const config::ConsumerConfig& consumer);

// A native handler of the program.
struct NativeWork {
  Handler handler;
  ApplyHandler apply;  // its second part; empty: there is none
};

struct ServiceOptions {
  std::map<std::string, NativeWork> natives;  // by the handler's name
  std::map<std::string, StepSpecs> steps;     // by the native handler's name
  std::map<std::string, FromOwn> sources;     // by the native source's name
  std::map<std::string, KeyFunction> keys;    // by consumer
  std::vector<Observer*> observers;           // borrowed
  bool once = false;
  bool dry_run =
      false;  // receive and say what would be handled; nothing is claimed, handled or settled
  Environment* environment = nullptr;
  // Readable once the process is to stop; also before there is a service. -1: none.
  int stop_fd = -1;
  // Where calls of handlers and of the store are measured; null: they are not. Borrowed.
  telemetry::DeliveryMetrics* delivery_metrics = nullptr;
  telemetry::StoreMetrics* store_metrics = nullptr;
  // Traces deliveries, handlers and the store, and has metrics of that; null: nothing is traced.
  // Borrowed.
  traces::Tracer* tracer = nullptr;
  const Traces* run_traces = nullptr;
  // Told of a handler that hangs, at once before the process ends, from any thread; empty: a line
  // on stderr.
  std::function<void(std::string_view consumer, const Error& error)> on_hung;
  // Called once, in place of the end of the process: the host decides. Empty: it ends.
  std::function<void(std::string_view consumer, const Error& error)> instead_of_end;
  // Called when the phase of a consumer has changed. On threads of the service; empty: nothing.
  std::function<void()> on_phase;
  // Called for each consumer that a reload has removed, once it has ended and the run has none of
  // its name; with the service locked, so that it must not ask it. Empty: nothing.
  std::function<void(const std::string& consumer)> on_gone;
};

// Exit code of a run whose store, source or handler is not available.
inline constexpr int kExitUnavailable = 69;

// All consumers of a config, running. Safe for several threads, except run.
class Service {
 public:
  static Result<std::unique_ptr<Service>> build(const config::Config& config,
                                                ServiceOptions options);
  virtual ~Service() = default;
  // Runs until stopped, or, with `once`, until nothing is left to do; drains; returns an exit code.
  virtual int run() = 0;
  // What the store's server is set to that weakens the promise: "synchronous_commit = off: …".
  virtual const std::vector<std::string>& risks() const noexcept = 0;
  struct Figures {
    std::string consumer;
    std::string source;  // "kafka"; or "front": the window before the consumer's records
    std::vector<SourceFigure> figures;
  };
  // The figures of sources that have some, and of the windows.
  virtual std::vector<Figures> figures() = 0;
  // Deliveries received and not settled, by consumer.
  virtual std::vector<std::pair<std::string, std::size_t>> in_flight() const = 0;
  // Begins the drain; a second call hurries it.
  virtual void stop() noexcept = 0;
  // The drain has begun.
  virtual bool is_stopping() const noexcept = 0;
  // The store that its consumers work on.
  virtual Store& store() noexcept = 0;
  // Statistics and shut gates of the store's consumers; nullopt where the store keeps none. Takes
  // as long as the store does.
  virtual Result<std::optional<StoreSnapshot>> look_at_store() = 0;

  // How far a consumer is in this process. kDraining: what it has is finished, and nothing else is
  // received; then it begins anew, or is kDrained until it is resumed, or is removed.
  enum class Phase { kStarting, kRunning, kDraining, kDrained, kOver };
  virtual std::vector<std::pair<std::string, Phase>> phases() const = 0;
  // Drains a consumer, until it is resumed or the process ends, also over a reload. False: it was
  // drained already. Returns at once. Errors: R343 for a name that it does not have; R358 where
  // what its source has given cannot be given back, and in a run that ends by itself.
  virtual Result<bool> drain(std::string_view consumer) = 0;
  // False: it was not drained.
  virtual Result<bool> resume(std::string_view consumer) = 0;

  // Looks at the consumers that `difference` names as a start with `next` would; changes nothing.
  // Asks the store, and brokers for some seconds each. Errors: those of build; R357 for a run that
  // ends by itself.
  virtual Result<void> check(const config::Config& next, const config::Difference& difference) = 0;
  // Goes over to `next`: consumers that did not change go on, the others are drained, each begins
  // anew once it is. Returns at once; false: the run ends.
  virtual bool take(std::shared_ptr<const config::Config> next,
                    const config::Difference& difference) = 0;
  // The consumers that are not yet as the newest config and people want them.
  virtual std::vector<std::string> unsettled() const = 0;
};

}  // namespace semel::compose
