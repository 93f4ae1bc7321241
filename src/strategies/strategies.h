// Makes the strategies. Each is a file in this folder; shared parts are in `pipeline.h`, for those
// whose record commits with the work, and in `two_phase.h`, for those that claim first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/observer.h>
#include <semel/retry_policy.h>
#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>
#include <semel/step_spec.h>
#include "strategies/strategy.h"

#include "core/guarantee.h"
#include "core/key_recipe.h"
#include "core/route.h"

namespace semel::strategies {

// Watches running handlers: renews leases, fires stop tokens at timeouts. LeaseRenewer implements
// it; strategies only report what begins and ends. Thread-safe.
class HandlerMonitor {
 public:
  // One running batch. Destroying it ends the watch.
  class Watch {
   public:
    virtual ~Watch() = default;
    // A handler begins, or has ended. The token fires at its timeout, at lease loss, and at a
    // hurried drain.
    virtual std::stop_token handler_begins(std::size_t lease) = 0;
    virtual void handler_ended(std::size_t lease) = 0;
    // Its record was finished or given up: stop renewing it.
    virtual void finished(std::size_t lease) = 0;
    // Whether handlers were asked to stop because the process ends: their failures then say nothing
    // about their messages (docs/contract.md, rule 19).
    virtual bool cancelled() const { return false; }
    // Whether the consumer drains: nobody waits for long any more.
    virtual bool draining() const { return false; }
    // The monitor's thread calls `action` now and then until the watch ends, so that a slow handler
    // does not delay other outcomes. It must return soon.
    virtual void on_tick(std::function<void()> action) = 0;
  };
  enum class Handlers {
    kInTransaction,  // one that passes timeout and grace holds the store's transaction: the process
                     // must end itself
    kSecondPart,     // the same after a call was made: a drain does not keep it from beginning
    kInTurn,         // one that hangs keeps those behind it from running: all leases lapse
    kTogether,       // each is independent
  };
  virtual ~HandlerMonitor() = default;
  // Renews `leases` well before their end until they are finished, at most up to the handler's
  // timeout plus grace. `calls`: the number of handlers, where there are no leases. `asked`: when
  // each lease was asked for, by Clock::elapsed, for it may run since then; empty: just now.
  virtual std::unique_ptr<Watch> watch(std::span<const Lease> leases, Handlers handlers,
                                       std::size_t calls = 1,
                                       std::span<const std::chrono::nanoseconds> asked = {}) = 0;
};

// Runs the work after a call's end on a thread other than the one that ended it, and second parts
// while handlers still run. The engine's completer thread implements it. Thread-safe.
class Completer {
 public:
  virtual ~Completer() = default;
  virtual void post(std::function<void()> work) = 0;
  // The call of a delivery, which is marked, is over and about to be recorded: another may begin.
  // Called on the thread that ended it.
  virtual void answered() noexcept {}
};

// Brings back deliveries that a strategy had kept (kKeep). The engine implements it. Thread-safe.
class Recaller {
 public:
  virtual ~Recaller() = default;
  // Makes the engine retry now every delivery that waits for this (TrackedDelivery::waits_for).
  virtual void recall(std::uint64_t waited_for) noexcept = 0;
};

// The engine's services for a strategy; borrowed.
struct Services {
  HandlerMonitor* monitor = nullptr;
  Completer* completer = nullptr;  // for asynchronous handlers; null: second parts run later
  Gate* gate = nullptr;            // for handlers; null: none
  Recaller* recaller = nullptr;    // null: nothing may be kept
};

struct PipelineStats;
class AgeGate;
class WriterShare;

struct Context {
  std::string consumer;
  Store* store = nullptr;  // borrowed
  Handler handler;
  // The second part of a two-part handler; empty: none. The store then has transactions, and the
  // first part is no transactional handler.
  ApplyHandler apply;
  // The first part has been called, so a message that is not completed may have had its effect.
  bool called = false;
  // An attempt whose effect may have happened is the last one: parked, for a person to decide.
  bool parks_doubt = false;
  RetryPolicy retry;
  core::Limits limits;
  ClaimOptions claim;
  Environment* environment = nullptr;
  Observer* observer = nullptr;
  Services services;
  // The reason of a message whose handler says dead; empty: handler.native.
  std::string dead_reason;
  // pessimistic_lock and optimistic_lock only: records, before the handler does, a query of the
  // business row that decides whether the handler's statements may run. Throws PayloadInvalid.
  // Empty: the record alone decides.
  std::function<void(const Message&, Transaction&)> row_guard;
  // query only: a statement or function that checks whether the effect exists already.
  std::function<Result<bool>(const Message&)> already_done;
  // False: the store keeps no payloads for later (Guard); a retry is reported, not held.
  bool hold = true;
  // The consumer whose queue gets the publications to each destination.
  std::map<std::string, core::Route, std::less<>> destinations{};
  // Consumers that are sent each message that is done, unchanged.
  std::vector<core::Route> forward_to{};
  // The declared steps of the handler; nullopt: not declared.
  std::optional<StepSpecs> steps{};
  // The handler only gives up, because the message ended the process: its undos are not run.
  bool gives_up = false;
  // Refuses messages that are too old to be known; null: none is. Shared by all that runs for the
  // consumer.
  std::shared_ptr<AgeGate> age_gate{};
  // Each dead letter leaves a copy in this consumer's queue; nullopt: in none.
  std::optional<core::Route> copies_to{};
  // Shared by all that runs for the consumer. Null: each pipeline has its own.
  std::shared_ptr<PipelineStats> stats{};
  // Its calls of the store, where they wait for each other's commits; null: they do not.
  std::shared_ptr<WriterShare> writer_share{};
};

std::unique_ptr<Strategy> make_strategy(core::StrategyKind kind, Context context);

}  // namespace semel::strategies
