// Decision: what one try of a handler came to, whatever it said, threw or returned.
#pragma once

#include <chrono>
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
    kDuplicate,  // a declared miss said that the effect had happened before
    kFailed,     // the retry policy says what next
    kDead,
    kLater,   // again after `after`, whatever the retry policy says
    kParked,  // a person says what next
  };
  Kind kind = Kind::kDone;
  Bytes result;
  std::string reason;                              // from semel::reason; empty where it went well
  std::string error;                               // for people
  std::optional<std::chrono::milliseconds> after;  // kFailed: the handler asked for this delay
  bool asked = false;                              // kFailed: the other end asked for it
  bool counted = true;
  bool unknown = false;                   // kFailed, kDead: the effect may have happened
  std::vector<Publication> publications;  // kDone: to known destinations
  // kLater, kParked: its steps are being undone.
  std::optional<GivingUp> giving_up{};
  // kDead: what could be undone of its steps is undone; and how many tries its handler had.
  std::optional<int> undone_after{};

  Remedy remedy = Remedy::kTime;  // kFailed, kDead: of the statement that failed
  bool thrown = false;            // nobody said whether the effect had happened by then
  bool stepped = false;           // its journal has steps that are done
  bool cancelled = false;         // kFailed: it was told to stop

  bool has_effect() const noexcept { return kind == Kind::kDone; }
  bool in_doubt() const noexcept { return unknown || (thrown && kind == Kind::kFailed); }
};

// Thrown through a handler whose transaction broke while it read, by no fault of its own. Not a
// std::exception: a handler that catches those must not take a neighbour's error for its own.
struct BatchBroken {};
// Thrown through a handler whose steps are over for this try, whatever it says.
struct StepsOver {};

Decision failed(std::string reason, std::string error);
Decision dead_for(std::string reason, std::string error);
// The decision after an error of a handler's statement: dead at once if time cannot mend it.
Decision failed_statement(std::string reason, const Error& error);
// A try that was cancelled is no attempt.
void forgive_if_cancelled(Decision& decision, const Keeper::Watch* watch);

// For a dead letter that was kept without its payload and is replayed: no handler sees it.
std::optional<Decision> refuse_unkept(const Message& message);

// The one place where a handler is called and where what it throws is caught. `context.handler`
// must be of the kind that is asked for.
Decision call_handler(const Context& context, const Message& message, const Attempt& attempt);
Decision call_handler(const Context& context, const Message& message, Transaction& transaction);
// The same for many: a decision for each, in their order.
std::vector<Decision> call_batch_handler(const Context& context,
                                         std::span<const Message* const> messages,
                                         std::span<const Attempt> attempts);

// What an asynchronous handler's answer comes to; nothing: its completion was dropped.
Decision decide_answer(const Context& context, const Attempt& attempt,
                       std::optional<Verdict> verdict);
// The exception that is being handled, as a decision. Call it inside a catch block.
Decision decide_thrown(const Attempt& attempt);

// What a declared miss makes of a message. `sql_class`: last part of the reason where it fails.
Decision decide_miss(const Context& context, const Otherwise& otherwise,
                     std::string_view sql_class);

}  // namespace semel::strategies
