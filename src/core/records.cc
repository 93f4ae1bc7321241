#include <semel/admin/records.h>

namespace semel {

const char* to_string(RecordState state) noexcept {
  switch (state) {
    case RecordState::kConsuming:
      return "consuming";
    case RecordState::kCompleted:
      return "completed";
    case RecordState::kRetrying:
      return "retrying";
    case RecordState::kParked:
      return "parked";
    case RecordState::kDead:
      return "dead";
  }
  return "unknown";
}

}  // namespace semel
