// Claim: what a store answers when asked for the right to handle a key.
//
// The fingerprint is compared before the state, in every state: Conflict outranks all other
// answers.
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/spi/lease.h>

namespace semel {

// Run the handler. `attempt` counts from 1 and includes this one.
struct Acquired {
  Lease lease;
  int attempt = 1;
  bool taken_over = false;  // from a holder whose lease ended: its work may have been done
  std::chrono::milliseconds since_first{0};  // since the key was first met, by the store's clock
};

// The effect happened before. Ack.
struct Completed {
  Bytes result;  // filled only where ClaimOptions::want_result asks for it
  std::chrono::system_clock::time_point completed_at;
};

// Someone holds it, or its retry is not yet due and the store keeps no payload for it. Come back
// later; never ack.
struct Busy {
  std::chrono::milliseconds retry_after{0};
};

// A retry that is not yet due, and the store keeps its payload: settle, it comes back by itself. A
// retry without a payload in the store is Busy: the delivery may be its only copy.
struct Waiting {
  std::chrono::milliseconds next_in{0};
};

// Given up or parked before, under this same fingerprint. Settle and count; no second dead letter.
// A parked one whose payload the store does not keep is not settled: a person may still say that it
// is tried again, and the delivery may be its only copy.
struct Closed {
  bool parked = false;
  std::string reason;
  bool held = false;  // the store keeps its payload; said of a parked one
};

// Same key, other payload. Never ack silently.
struct Conflict {
  Fingerprint recorded;
  Fingerprint arrived;
};

using Claim = std::variant<Acquired, Completed, Busy, Waiting, Closed, Conflict>;

}  // namespace semel
