// Judged: the outcome of a publish for its message, and what it says of the broker. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <semel/gate.h>
#include <semel/verdict.h>

#include "core/breaker.h"

namespace semel::core {

struct Judged {
  enum class Broker {
    kWorks,
    kAtFault,  // every message would fail
    kRefuses,  // every message would fail, or this one alone: the others tell
    kSilent,   // says nothing about the broker
  };
  Verdict verdict = done();
  Broker broker = Broker::kWorks;
  // With kRefuses: where the others are taken, the refusal uses up an attempt of the message.
  bool costs_alone = false;
  std::string why;  // for people, where the broker does not work
};

// An attempt that says nothing about the message itself. `unknown`: it may have been published.
Judged judged_again(std::string code, std::string why, Judged::Broker broker, bool unknown);
// A failure that no retry mends.
Judged judged_dead(std::string code, std::string why, Judged::Broker broker);

// A call that ends without an answer: its timeout passed, or its attempt was stopped.
struct NoAnswer {
  std::chrono::milliseconds after;
  bool sent;
  bool stopped;      // says nothing about the broker
  std::string last;  // the last error on the way; may be empty
};
Judged judged_no_answer(const NoAnswer& call, std::string code);

// How an answer changes the gate.
struct GateNews {
  bool open = false;
  std::optional<std::chrono::milliseconds> shut;
  bool own = false;  // others were published since the broker first refused the message

  static GateNews of(Breaker& breaker, Breaker::Ticket call, Breaker::MessageId message,
                     Judged::Broker broker);
  // Does nothing where `gate` is null.
  void tell(Gate* gate, std::string_view why) const noexcept;
};

}  // namespace semel::core
