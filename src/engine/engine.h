// Engine: one consumer, running. It owns every thread and decides nothing about records.
//
// One thread receives. Without workers it also runs the batches, so that a message that comes alone
// is handled without a hop between threads; when more waits than one batch takes, another thread
// runs them, still one at a time, and this one receives meanwhile. Batches of an asynchronous
// handler end later, recorded by the completer's thread. Everything in flight is in one of four
// places: the sequencer, a running batch, the list of those to bring back later, the refused ones
// not yet kept.
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
#include "strategies/strategy.h"

#include "core/key_recipe.h"
#include "core/order.h"
#include "core/pace.h"
#include "core/retention.h"
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
  core::Retention retention;         // of finished records
  std::optional<core::Order> order;  // keeping lines needs a store that holds messages
  // Several processes read its source, each may receive the next message of any ordering key.
  bool shares_lines = false;
  // Its source gives each partition to one process, and others have had it before: a new generation
  // of tags may bring what follows a message that another process left waiting in the store.
  bool takes_over_lines = false;
  std::optional<ConsumerNumber> copies_to{};  // in whose queue each dead letter leaves a copy
  core::StartTrace start_trace{};             // empty: nothing is traced
  // What comes from outside is kept in the store, settled, and handled from there.
  bool defers = false;
  bool inbox = false;  // and stands in its inbox meanwhile
  int workers = 0;     // 0: one batch at a time; see above
  // Asynchronous handlers: messages begun and not ended, at most; 0: as many as are received.
  std::size_t most_running = 0;
  std::size_t batch_first = 1;
  core::Pace pace;
  std::chrono::milliseconds lease = ClaimOptions().lease;
  std::chrono::milliseconds handler_timeout = core::kUsualTimeout;
  std::chrono::milliseconds grace = core::kUsualGrace;
  std::chrono::milliseconds drain_timeout = core::kUsualDrainTimeout;
  int crashes = RetryPolicy().crashes;
  // So many messages of each partition are suspects: an engine of this process left some untried.
  std::size_t suspects_first = 0;
  bool once = false;
  bool dry_run = false;
  bool fail_on_unavailable = false;
};

struct EngineParts {
  Store* store = nullptr;                        // borrowed
  std::vector<std::unique_ptr<Source>> sources;  // the consumer's own first
  std::unique_ptr<strategies::Front> front;      // before its records; null: there is none
  // Made with the engine's services. `condemned` is the same strategy with a handler that gives up:
  // it ends a message that has crashed the process too often.
  std::function<std::unique_ptr<strategies::Strategy>(const strategies::Services&)> strategy;
  std::function<std::unique_ptr<strategies::Strategy>(const strategies::Services&)> condemned;
  Environment* environment = nullptr;
  Observer* observer = nullptr;
  // Shared by the engines of a process: while suspects of one run, those of no other may, or
  // a crash would be counted against both.
  system::Mutex* suspect_gate = nullptr;
  // With `once`: whether something of this process may still put messages into its queue; empty:
  // nothing does. Whoever makes it false nudges the engine then.
  std::function<bool()> fed;
  // A handler hangs and cannot be stopped: ends the process, or tells a host that will. Where it
  // returns, the engine waits for the handler; it may be called again.
  std::function<void(const std::string&)> hung;
  // Whether the process goes on after a drain. Then a handler that hangs is waited for, in place of
  // ending the process, and the drain ends only once the store has its rows back. Empty: it does
  // not. Thread-safe.
  std::function<bool()> process_goes_on;
};

// How a run ended.
enum class Ended {
  kDrained,      // stopped, and nothing is left in flight
  kFinished,     // `once`: nothing is left to do
  kUnavailable,  // the store or a source is away, and the options say not to wait
  kFailed,       // a source's final error, or a message without a key under `missing: fail`
};

// Whose figures are those of the window before the records. No source is called so.
inline constexpr std::string_view kFrontFigures = "front";

class Engine {
 public:
  static std::unique_ptr<Engine> create(EngineOptions options, EngineParts parts);
  virtual ~Engine() = default;

  // Runs on the caller's thread until it ends. Once.
  virtual Ended run() = 0;
  // The error that no waiting mends and that ended the run; nothing where it ended otherwise. After
  // run.
  [[nodiscard]] virtual std::optional<Error> final_error() const = 0;
  // The suspects_first of the next engine of this process; zero where none is left untried.
  // After run.
  [[nodiscard]] virtual std::size_t suspects_left() const = 0;
  // Begins the drain; a second call hurries it. Async-signal-safe, from any thread.
  virtual void stop() noexcept = 0;
  // Look at the sources again: something may have come free. From any thread.
  virtual void nudge() noexcept = 0;

  struct Figures {
    std::string_view source;  // "kafka"; or kFrontFigures
    std::vector<SourceFigure> figures;
  };
  // Of each source that has some, and of the window. From any thread.
  virtual std::vector<Figures> figures() = 0;
  // Deliveries received and not settled. From any thread.
  virtual std::size_t in_flight() const = 0;
};

}  // namespace semel::engine
