// Maps a claim's answer or a handler's decision to a Finish for the store and an outcome.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <semel/error.h>
#include <semel/outcome.h>
#include <semel/spi/claim.h>
#include <semel/spi/delivery.h>
#include <semel/spi/finish.h>

#include "core/tracked_delivery.h"
#include "strategies/decision.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// The claim under which a handler runs.
struct ClaimInfo {
  std::optional<Lease> lease;  // nullopt: there is no record
  int attempt = 1;
  bool taken_over = false;
  std::chrono::milliseconds since_first{0};
  std::chrono::nanoseconds asked{0};  // when the lease was asked for, by Clock::elapsed
  bool had_record = false;            // also where no attempt has counted

  static ClaimInfo of(const Acquired& acquired, std::chrono::nanoseconds asked = {}) noexcept {
    return {acquired.lease, acquired.attempt,   acquired.taken_over, acquired.since_first,
            asked,          acquired.had_record};
  }
  // This claim made the record: nothing was tried before it.
  bool made_record() const noexcept { return attempt <= 1 && !taken_over && !had_record; }
  // For strategies without a record: from what the held row remembers.
  static ClaimInfo without_record(const Arrival& arrival) noexcept {
    return {std::nullopt, arrival.attempts + 1, false,
            arrival.since_first.value_or(std::chrono::milliseconds{0})};
  }
};

// An outcome, and the Finish that must be durable before it is true. No Finish: nothing to write.
struct Resolution {
  Outcome outcome;
  std::optional<Finish> finish;
};

// How often a store that is unavailable is asked again.
inline constexpr std::chrono::milliseconds kAskStoreAgain{1'000};
// When a message whose lease was lost comes again, to learn how the other holder ended it.
inline constexpr std::chrono::milliseconds kAskHolderAgain{1'000};
// When a message that waits for a person comes again, where only its source keeps it.
inline constexpr std::chrono::milliseconds kAskPersonAgain{60'000};

class Resolver {
 public:
  Resolver(const Context& context, bool inbox) : context_(context), inbox_(inbox) {}

  // For a claim that lets nothing run: anything but Acquired. The Finish borrows the delivery.
  // `unkept`: why its payload is missing, if it is.
  Resolution of_claim(const Claim& claim, const core::TrackedDelivery& delivery,
                      std::string_view unkept = {}) const;
  // For a handler that ran. The Finish borrows the delivery.
  Resolution of_decision(const ClaimInfo& claim_info, const Decision& decision,
                         const core::TrackedDelivery& delivery) const;
  // The same for a success under a lease, the most frequent case, written in place.
  void complete(const ClaimInfo& claim_info, const Decision& decision,
                const core::TrackedDelivery& delivery, Outcome& outcome, Finish& finish) const;
  // For a claim after an attempt with an unknown outcome, where that must be the last: parked.
  Resolution of_dark_try(const ClaimInfo& claim_info, const core::TrackedDelivery& delivery) const;

 private:
  // For messages that come again, or wait for a person: settled where the store keeps the message,
  // and otherwise left with the source.
  Outcome not_over(Outcome::Kind kind, const core::TrackedDelivery& delivery) const;
  Outcome for_person(Outcome::Kind kind, const core::TrackedDelivery& delivery) const;
  Resolution of_closed(const Closed& closed, const core::TrackedDelivery& delivery) const;
  void start(Finish::To to, const ClaimInfo& claim_info, const core::TrackedDelivery& delivery,
             Finish& finish) const;
  Resolution of_success(const ClaimInfo& claim_info, const Decision& decision,
                        const core::TrackedDelivery& delivery) const;
  Resolution of_failure(const ClaimInfo& claim_info, const Decision& decision,
                        const core::TrackedDelivery& delivery) const;
  Resolution of_death(const ClaimInfo& claim_info, const Decision& decision,
                      const core::TrackedDelivery& delivery) const;
  Resolution given_up(const ClaimInfo& claim_info, const Decision& decision,
                      const core::TrackedDelivery& delivery) const;
  Resolution in_the_dark(const ClaimInfo& claim_info, std::string_view reason, std::string error,
                         const core::TrackedDelivery& delivery) const;
  // Stored with its message, for a time or for a person.
  Resolution kept(Outcome outcome, Finish::To to, const ClaimInfo& claim_info,
                  const Decision& decision, const core::TrackedDelivery& delivery) const;
  Resolution later(const ClaimInfo& claim_info, const Decision& decision,
                   const core::TrackedDelivery& delivery) const;
  Resolution left_to_person(const ClaimInfo& claim_info, const Decision& decision,
                            const core::TrackedDelivery& delivery) const;
  void copy(Finish& dead) const;
  bool sends(const Decision& decision) const noexcept;
  void send(const Decision& decision, const core::TrackedDelivery& delivery, Finish& finish) const;

  const Context& context_;
  const bool inbox_;
};

// Gives back a claim under which nothing was done.
Finish not_started(const Lease& lease);
// Whether a claim shows that a Finish whose answer was lost was applied. `held`: the Finish gave
// the store the payload.
bool came_true(Finish::To to, bool held, const Claim& claim);

// Nothing is recorded, and the source brings the message again.
Outcome store_away(const Error& error, std::chrono::milliseconds delay = kAskStoreAgain);
// Not started: the engine keeps the message, and brings it again at once.
Outcome kept_by_engine();
// Another holder decides how the message ends.
Outcome lease_lost(int attempt);

}  // namespace semel::strategies
