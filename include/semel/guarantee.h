// Guarantee: the promise of a consumer, as a value. Its name is only a short word for it.
//
// Computed from source, key, strategy, handler, store and settings; printed by `semel check`;
// lowered by facts, never raised. The words "exactly once" mean nothing without the four parts.
#pragma once

#include <string>
#include <vector>

#include <semel/standard.h>

namespace semel {

struct Guarantee {
  enum class Name { kTransactional, kIdempotent, kKeyedRetry, kAtLeastOnce, kAtMostOnce, kNone };
  enum class Effect {
    kOnce,
    kAtMostOnce,
    kAtLeastOnceSameResult,
    kAtLeastOnceSameKey,
    kAtLeastOnce,
    kUnknown
  };
  enum class Loss { kNone, kWhatWasRead, kOnPowerLoss, kPossible };

  Name name = Name::kNone;
  Effect effect = Effect::kUnknown;
  Loss loss = Loss::kNone;
  std::string faults;                // the faults under which it holds, in a sentence
  std::string until;                 // until when: "for 7d after completion", "for ever"
  std::vector<std::string> reasons;  // each thing that lowered it
};

const char* to_string(Guarantee::Name name) noexcept;  // "transactional", …
const char* to_string(Guarantee::Effect effect) noexcept;
const char* to_string(Guarantee::Loss loss) noexcept;

}  // namespace semel
