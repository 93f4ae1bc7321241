#include <semel/outcome.h>

namespace semel {

const char* to_string(Outcome::Kind kind) noexcept {
  switch (kind) {
    case Outcome::Kind::kDone:
      return "done";
    case Outcome::Kind::kDuplicate:
      return "duplicate";
    case Outcome::Kind::kBusy:
      return "busy";
    case Outcome::Kind::kConflict:
      return "conflict";
    case Outcome::Kind::kRetry:
      return "retry";
    case Outcome::Kind::kDead:
      return "dead";
    case Outcome::Kind::kParked:
      return "parked";
    case Outcome::Kind::kDiscarded:
      return "discarded";
  }
  return "unknown";
}

}  // namespace semel
