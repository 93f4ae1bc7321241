// Makes the strategies. One file each in this folder; what they share is in `pipeline.h`, for those
// whose record commits with the work, and in `two_phase.h`, for those who claim first.
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

namespace semel::strategies {

// Watches over handlers while they run: renews leases, fires stop tokens at timeouts. LeaseRenewer
// implements it; strategies only tell it what begins and ends. Thread-safe.
class Keeper {
 public:
  // One running batch. Destroying it ends the watch.
  class Watch {
   public:
    virtual ~Watch() = default;
    // A handler begins, or ended. The token fires at its timeout, at lease loss, at a hurried
    // drain.
    virtual std::stop_token handler_begins(std::size_t lease) = 0;
    virtual void handler_ended(std::size_t lease) = 0;
    // Its record was finished or given up: renew it no longer.
    virtual void finished(std::size_t lease) = 0;
    // Handlers were told to stop because the process ends: what they fail at says nothing about
    // their messages (docs/contract.md, rule 19).
    virtual bool cancelled() const { return false; }
    // `action` is called now and then by the keeper's thread, until the watch ends: a slow handler
    // holds back nobody else's ending. It must return soon.
    virtual void on_tick(std::function<void()> action) = 0;
  };
  enum class Handlers {
    kInTransaction,  // one that passes timeout and grace holds the store's transaction: the process
                     // must end itself
    kSecondPart,  // the same, of work whose call was made: a drain does not keep it from beginning
    kInTurn,      // one that hangs keeps those behind it from running: all leases lapse
    kTogether,    // each for itself
  };
  virtual ~Keeper() = default;
  // `leases` are renewed well before their end until finished, at most up to the handler's timeout
  // plus grace. `calls`: how many handlers run, where they have no leases.
  virtual std::unique_ptr<Watch> watch(std::span<const Lease> leases, Handlers handlers,
                                       std::size_t calls = 1) = 0;
};

// Runs what follows the end of a call beside the thread that ended it, and second parts beside
// handlers that still run. The engine's completer thread implements it. Thread-safe.
class Completer {
 public:
  virtual ~Completer() = default;
  virtual void post(std::function<void()> work) = 0;
  // The call of a delivery, which is marked, is over and about to be recorded: another may begin.
  // Called by the thread that ended it.
  virtual void answered() noexcept {}
};

// Brings back what a strategy let be kept. The engine implements it. Thread-safe.
class Recaller {
 public:
  virtual ~Recaller() = default;
  // Makes the engine retry now every delivery that waits for this (TrackedDelivery::waits_for).
  virtual void recall(std::uint64_t waited_for) noexcept = 0;
};

// What the engine gives a strategy; borrowed.
struct Services {
  Keeper* keeper = nullptr;
  Completer* completer = nullptr;  // asynchronous handlers need it; null: second parts run later
  Gate* gate = nullptr;            // for handlers; null: there is none
  Recaller* recaller = nullptr;    // null: nothing may be kept
};

struct Habits;

struct Context {
  std::string consumer;
  Store* store = nullptr;  // borrowed
  Handler handler;
  // The second part of work in two; empty: there is none. The store has transactions then, and the
  // handler is not a transactional one.
  ApplyHandler apply;
  // This is that second part: the call has been made, so what does not complete may have had its
  // effect.
  bool called = false;
  // A try whose effect may have happened is the last one: parked, for a person to decide.
  bool parks_doubt = false;
  RetryPolicy retry;
  core::Limits limits;
  ClaimOptions claim;
  Environment* environment = nullptr;
  Observer* observer = nullptr;
  Services services;
  // The reason of a message whose handler says dead; empty: handler.native.
  std::string dead_reason;
  // pessimistic_lock and optimistic_lock only: records, before a handler does, what looks at the
  // business row and says whether the handler's statements may stand. Throws PayloadInvalid. Empty:
  // there is none, and the record alone decides.
  std::function<void(const Message&, Transaction&)> row_guard;
  // query only: a statement or function that says whether the effect is there already.
  std::function<Result<bool>(const Message&)> already_done;
  // False: the store keeps no payloads for later (Guard); a retry is told, not held.
  bool hold = true;
  // Whose queue a publication to each destination goes into.
  std::map<std::string, ConsumerNumber, std::less<>> destinations{};
  // Who is sent each message that is done, as it is.
  std::vector<ConsumerNumber> forward_to{};
  // The steps the handler is declared to have; nothing: nobody said which.
  std::optional<StepSpecs> steps{};
  // The handler only gives up, for it was the message that ended the process: no undo of it is run.
  bool condemned = false;
  // In whose queue each dead letter leaves a copy; nobody's.
  std::optional<ConsumerNumber> copies_to{};
  // Shared by all that runs for the consumer. Null: each pipeline has its own.
  std::shared_ptr<Habits> habits{};
};

std::unique_ptr<Strategy> make_strategy(core::StrategyKind kind, Context context);

}  // namespace semel::strategies
