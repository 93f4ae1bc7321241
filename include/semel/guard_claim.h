// GuardClaim: the right to one key, for an effect that begins in one place and ends in another.
//
//   auto begun = guard.begin(key, semel::fingerprint_of(body));
//   if (begun && begun->claim) {
//     … act outside; later, perhaps in another thread:
//     auto outcome = begun->claim->complete("receipt 17");
//   }
//
// Its lease is renewed by a thread of the guard until the claim is over, but not past
// GuardOptions::timeout plus grace: after a claim that is forgotten, or the death of the process,
// the key can be claimed again when the lease ends.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <semel/attempt.h>
#include <semel/bytes.h>
#include <semel/outcome.h>
#include <semel/result.h>
#include <semel/verdict.h>

namespace semel {

// One thread at a time; which one may change. The guard and its store must outlive the claim. A
// claim that is destroyed or assigned to before it is over is given back as by `give_back`, in one
// attempt: where the store does not answer then, the lease ends by itself. Under at_most_once it is
// parked instead, for nobody knows what its holder did. A claim that was moved from is over. Throws
// only std::bad_alloc.
class GuardClaim {
 public:
  ~GuardClaim();
  GuardClaim(GuardClaim&& other) noexcept;
  GuardClaim& operator=(GuardClaim&& other) noexcept;

  // The number of this attempt, the token that fences the outside, and a stop token that fires when
  // the timeout has passed or the lease is lost. It has no position, no gate and no steps. Valid
  // until the claim is destroyed or assigned to, wherever it is moved before. The attempt of a
  // claim that was moved from has no token, and its stop token has fired.
  [[nodiscard]] const Attempt& attempt() const noexcept;

  // Extends the lease to its full length from now. The guard does so by itself up to the timeout;
  // call this before an act that cannot be undone, to know that the key is still held, or to hold
  // it past the timeout, which itself does not move. False: the lease is lost, to another holder or
  // to a person. An Error: the store could not answer, or (kRejected) the claim is over.
  [[nodiscard]] Result<bool> renew();

  // Each of these calls ends the claim, whatever it returns; a second one is kRejected. It retries
  // while the store is away, for the length of a lease at most.
  //
  //   kDone, kRetry, kDead, kDiscarded, kParked   recorded, as after run_once
  //   kBusy, with reason lease.lost               refused: the lease was lost, and nothing of this
  //                                               is recorded. Call `begin` again to learn how the
  //                                               other holder ended it
  //
  // An Error (kInDoubt): the effect happened, and whether it is recorded is unknown. `begin` tells:
  // kDuplicate where it is, else another claim once the lease has ended.
  [[nodiscard]] Result<Outcome> complete(Bytes result = {});
  // The key can be claimed again immediately. `reason` is for people; `after` is returned as
  // Outcome::delay. Under GuardOptions::at_most_once it must mean that nothing happened.
  [[nodiscard]] Result<Outcome> give_back(
      std::string reason, std::optional<std::chrono::milliseconds> after = std::nullopt);
  // With any verdict: dead, discard, an unknown effect, messages to send.
  [[nodiscard]] Result<Outcome> end(Verdict verdict);

 private:
  friend class Guard;
  class Impl;
  explicit GuardClaim(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;  // null: moved from
};

// The answer of `begin`.
struct Begun {
  std::optional<GuardClaim> claim;  // the key is yours: act, then end the claim
  Outcome outcome;                  // where there is no claim: why, as from run_once
};

}  // namespace semel
