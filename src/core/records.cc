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

void ReplayReport::note(std::int64_t id, Result result) {
  letters.emplace_back(id, result);
  switch (result) {
    case Result::kReplayed:
      ++replayed;
      break;
    case Result::kSkippedCompleted:
      ++skipped_completed;
      break;
    case Result::kSkippedConflict:
      ++skipped_conflict;
      break;
    case Result::kMissing:
      ++missing;
      break;
  }
}

}  // namespace semel
