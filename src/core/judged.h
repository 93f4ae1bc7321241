// Judged: what becomes of a message that was to be published, and what that says of the broker.
// Pure.
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
    kSilent,   // it says nothing about that
  };
  Verdict verdict = done();
  Broker broker = Broker::kWorks;
  std::string why;  // for people, where it does not work
};

// A try that says nothing about the message itself. `unknown`: it may have been published.
Judged judged_again(std::string code, std::string why, Judged::Broker broker, bool unknown);
// Nobody mends it.
Judged judged_dead(std::string code, std::string why, Judged::Broker broker);

// What an answer changes at the gate.
struct GateNews {
  bool open = false;
  std::optional<std::chrono::milliseconds> shut;

  static GateNews of(Breaker& breaker, Breaker::Ticket call, Judged::Broker broker) noexcept;
  // A gate that is not there hears nothing.
  void tell(Gate* gate, std::string_view why) const noexcept;
};

}  // namespace semel::core
