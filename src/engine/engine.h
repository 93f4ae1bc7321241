// Engine: runs one consumer. It owns every thread and decides nothing about records.
//
// One thread receives. Without workers it also runs the batches, so that a single message is
// handled without a hop between threads; when more messages wait than one batch takes, another
// thread runs the batches, still one at a time, and this one only receives. Batches of an
// asynchronous handler end later, recorded by the completer's thread. Everything in flight is in
// one of four places: the sequencer, a running batch, the list of deliveries to bring back later,
// the refused arrivals that are not stored yet.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/retry_policy.h>
#include <semel/spi/source.h>
#include <semel/spi/store.h>
#include "strategies/age_gate.h"
#include "strategies/strategy.h"

#include "core/key_recipe.h"
#include "core/order.h"
#include "core/pace.h"
#include "core/retention.h"
#include "core/route.h"
#include "core/trace_context.h"
#include "strategies/front.h"
#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::engine {

struct EngineOptions {
  std::string consumer;
  ConsumerNumber number{};
  core::KeyRecipe recipe;
  core::Limits limits;
  core::EmptyPayload empty = core::EmptyPayload::kHandle;
  core::Retention retention;  // of finished records
  // Shared with the strategies, and told how late the sources can deliver again; null: none.
  std::shared_ptr<strategies::AgeGate> age_gate{};
  std::optional<core::Order> order;  // keeping lines needs a store that holds messages
  // Several processes read its source, and each may receive the next message of any ordering key.
  bool shares_lines = false;
  // Its source gives each partition to one process, and others have had it before: a new generation
  // of tags may bring what follows a message that another process left waiting in the store.
  bool takes_over_lines = false;
  std::optional<core::Route> copies_to{};  // in whose queue each dead letter leaves a copy
  core::StartTrace start_trace{};          // empty: nothing is traced
  // Messages from outside are stored, settled, and handled from the store.
  bool defers = false;
  bool inbox = false;  // and are in its inbox meanwhile
  int workers = 0;     // 0: one batch at a time, see above
  // Asynchronous handlers: the most messages begun and not ended; 0: as many as are received.
  std::size_t most_running = 0;
  std::size_t batch_first = 1;
  core::Pace pace;
  std::chrono::milliseconds lease = ClaimOptions().lease;
  std::chrono::milliseconds handler_timeout = core::kUsualTimeout;
  std::chrono::milliseconds grace = core::kUsualGrace;
  std::chrono::milliseconds drain_timeout = core::kUsualDrainTimeout;
  int crashes = RetryPolicy().crashes;
  // The number of suspects in each partition: an engine of this process left some untried.
  std::size_t suspects_first = 0;
  bool once = false;
  bool dry_run = false;
  bool fail_on_unavailable = false;
};

struct EngineParts {
  Store* store = nullptr;                        // borrowed
  std::vector<std::unique_ptr<Source>> sources;  // the consumer's own first
  std::unique_ptr<strategies::Front> front;      // in front of its records; null: none
  // Made with the engine's services. `give_up_strategy` is the same strategy with a handler that
  // gives up: it ends a message that has crashed the process too often.
  std::function<std::unique_ptr<strategies::Strategy>(const strategies::Services&)> strategy;
  std::function<std::unique_ptr<strategies::Strategy>(const strategies::Services&)>
      give_up_strategy;
  Environment* environment = nullptr;
  Observer* observer = nullptr;
  // Shared by the engines of a process: suspects of only one run at a time, or a crash would be
  // counted against both.
  system::Mutex* suspect_gate = nullptr;
  // With `once`: whether something in this process may still add messages to its queue; empty:
  // nothing does. The code that makes it false then nudges the engine.
  std::function<bool()> upstream_active;
  // Called when a handler hangs and cannot be stopped: ends the process, or informs a host that
  // will. If it returns, the engine waits for the handler; it may be called again.
  std::function<void(const std::string&)> hung;
  // Whether the process continues after a drain. Then the drain waits for a handler that hangs
  // instead of ending the process, and ends only once the store has its rows back. Empty: it does
  // not. Thread-safe.
  std::function<bool()> process_goes_on;
};

// How a run ended.
enum class Ended {
  kDrained,      // stopped, and nothing is left in flight
  kFinished,     // `once`: nothing is left to do
  kUnavailable,  // the store or a source is unavailable, and the options say not to wait
  kFailed,       // a source's final error, or a message without a key under `missing: fail`
};

// Names the figures of the front window. No source has this name.
inline constexpr std::string_view kFrontFigures = "front";

class Engine {
 public:
  static std::unique_ptr<Engine> create(EngineOptions options, EngineParts parts);
  virtual ~Engine() = default;

  // Runs on the caller's thread until it ends. Call once.
  virtual Ended run() = 0;
  // The error that ended the run and that no waiting mends; nullopt where it ended otherwise. Call
  // after run.
  [[nodiscard]] virtual std::optional<Error> final_error() const = 0;
  // The suspects_first of the next engine of this process; zero where none is left untried. Call
  // after run.
  [[nodiscard]] virtual std::size_t suspects_left() const = 0;
  // Begins the drain; a second call hurries it. Async-signal-safe and thread-safe.
  virtual void stop() noexcept = 0;
  // Makes it look at the sources again: a place may be free. Thread-safe.
  virtual void nudge() noexcept = 0;

  struct Figures {
    std::string_view source;  // "kafka"; or kFrontFigures
    std::vector<SourceFigure> figures;
    bool tells_lag = false;  // SourceTraits::tells_lag
  };
  // The figures of every source that has some, or tells its lag, and of the front window.
  // Thread-safe.
  virtual std::vector<Figures> figures() = 0;
  // Deliveries received and not settled. Thread-safe.
  virtual std::size_t in_flight() const = 0;
};

}  // namespace semel::engine
