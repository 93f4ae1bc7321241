// Claim: a store's answer to the request for the right to handle a key.
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
  bool taken_over = false;  // from a holder whose lease ended: its effect may exist
  std::chrono::milliseconds since_first{0};  // since the key was first met, by the store's clock
  // This very claim found that lease ended. `taken_over` stays true in later attempts, this does
  // not; nor is it told again where the first answer of the claim was lost.
  bool lease_ended = false;
  // A record of the key was there before this claim: consuming, or waiting for a retry. Only a
  // message without one can be too old (docs/contract.md, rule 13).
  bool had_record = false;
};

// The effect happened before. Acknowledge.
struct Completed {
  Bytes result;  // filled only where ClaimOptions::want_result asks for it
  std::chrono::system_clock::time_point completed_at;
};

// Another worker holds it, or its retry is not yet due and the store keeps no payload for it. Claim
// it again later; never acknowledge.
struct Busy {
  std::chrono::milliseconds retry_after{0};
};

// A retry that is not yet due, whose payload the store keeps: settle it, it comes back by itself. A
// retry without a payload in the store is Busy: the delivery may be the only copy.
struct Waiting {
  std::chrono::milliseconds next_in{0};
};

// Given up or parked before, under this same fingerprint. Settle and count; no second dead letter.
// A parked record whose payload the store does not keep is not settled: a person may still decide
// that it runs again, and the delivery may be the only copy.
struct Closed {
  bool parked = false;
  std::string reason;
  bool held = false;  // parked: the store keeps its payload
};

// Same key, other payload. Never acknowledge silently.
struct Conflict {
  Fingerprint recorded;
  Fingerprint arrived;
};

using Claim = std::variant<Acquired, Completed, Busy, Waiting, Closed, Conflict>;

}  // namespace semel
