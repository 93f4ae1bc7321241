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
#include <semel/lease.h>

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

// Someone holds it. Come back later; never ack.
struct Busy {
  std::chrono::milliseconds retry_after{0};
};

// A retry that is not yet due. If the store keeps messages it has the payload: settle, it comes
// back by itself. If it keeps none, nobody has it: do not settle, and deliver it again after
// `next_in`.
struct Waiting {
  std::chrono::milliseconds next_in{0};
};

// Given up or parked before, under this same fingerprint. Settle and count; no second dead letter.
struct Closed {
  bool parked = false;
  std::string reason;
};

// Same key, other payload. Never ack silently.
struct Conflict {
  Fingerprint recorded;
  Fingerprint arrived;
};

using Claim = std::variant<Acquired, Completed, Busy, Waiting, Closed, Conflict>;

}  // namespace semel
