// comes_again: whether a message will be tried again after this outcome.
#pragma once

#include <semel/outcome.h>

namespace semel::core {

// Nothing is decided about the message yet. Messages ordered behind it must wait.
inline bool comes_again(const Outcome& outcome) noexcept {
  return outcome.kind == Outcome::Kind::kRetry || outcome.kind == Outcome::Kind::kBusy ||
         outcome.settle == Outcome::Settle::kLater || outcome.settle == Outcome::Settle::kRelease ||
         outcome.settle == Outcome::Settle::kKeep;
}

}  // namespace semel::core
