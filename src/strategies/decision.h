// Decision: the result of one attempt of a handler, from its verdict, exception or return.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/attempt.h>
#include <semel/error.h>
#include <semel/message.h>
#include <semel/spi/finish.h>
#include <semel/transaction.h>
#include <semel/verdict.h>

#include "strategies/strategies.h"

namespace semel::strategies {

struct Decision {
  enum class Kind {
    kDone,
    kDiscarded,
    kDuplicate,  // a declared miss means that the effect had happened before
    kFailed,     // the retry policy decides the next step
    kDead,
    kLater,   // again after `after`, whatever the retry policy says
    kParked,  // a person decides the next step
  };
  Kind kind = Kind::kDone;
  Bytes result;
  std::string reason;                              // from semel::reason; empty for success
  std::string error;                               // for people
  std::optional<std::chrono::milliseconds> after;  // kFailed: the handler asked for this delay
  bool asked = false;                              // kFailed: the receiver asked for it
  bool counted = true;
  bool unknown = false;                   // kFailed, kDead: the effect may have happened
  std::vector<Publication> publications;  // kDone: to known destinations
  // kLater, kParked: its steps are being undone.
  std::optional<GivingUp> giving_up{};
  // kDead: of its steps all that can be undone is undone; the number of its handler's attempts.
  std::optional<int> undone_after{};

  // kFailed because the store is away: its error.
  std::shared_ptr<const Error> store_error{};

  Remedy remedy = Remedy::kTime;  // kFailed, kDead: of the statement that failed
  bool thrown = false;            // unknown whether the effect had happened by then
  bool stepped = false;           // its journal has finished steps
  bool cancelled = false;         // kFailed: it was asked to stop
  bool untried = false;           // the handler was not called

  bool has_effect() const noexcept { return kind == Kind::kDone; }
  bool in_doubt() const noexcept { return unknown || (thrown && kind == Kind::kFailed); }
};

// Thrown through a handler whose transaction broke during a query, by no fault of its own. Not a
// std::exception: a handler that catches those must not take a neighbour's error for its own.
struct BatchBroken {};
// Thrown through a handler whose steps are over for this attempt, whatever it returns.
struct StepsOver {};

Decision failed(std::string reason, std::string error);
Decision dead_for(std::string reason, std::string error);
// The decision after an error of a handler's statement: dead immediately if time cannot mend it.
Decision failed_statement(std::string reason, const Error& error);
// An attempt that was cancelled does not count.
void forgive_if_cancelled(Decision& decision, const HandlerMonitor::Watch* watch);

// For a dead letter that was kept without its payload and is replayed: it reaches no handler.
std::optional<Decision> refuse_unkept(const Message& message);

// The only place that calls a handler and catches its exceptions. `context.handler` must be of the
// kind called.
Decision call_handler(const Context& context, const Message& message, const Attempt& attempt);
Decision call_handler(const Context& context, const Message& message, Transaction& transaction);
// The same for many: a decision for each, in their order.
std::vector<Decision> call_batch_handler(const Context& context,
                                         std::span<const Message* const> messages,
                                         std::span<const Attempt> attempts);

// The decision for an asynchronous handler's answer; nullopt: its completion was dropped.
Decision decide_answer(const Context& context, const Attempt& attempt,
                       std::optional<Verdict> verdict);
// The current exception as a decision. Call it inside a catch block.
Decision decide_thrown(const Attempt& attempt);

// The decision after a declared miss. `sql_class`: last part of the reason where it fails.
Decision decide_miss(const Context& context, const Otherwise& otherwise,
                     std::string_view sql_class);

}  // namespace semel::strategies
