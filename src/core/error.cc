#include <semel/error.h>

namespace semel {

const char* to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kInDoubt:
      return "in_doubt";
    case ErrorKind::kRetryTransaction:
      return "retry_transaction";
    case ErrorKind::kBlocked:
      return "blocked";
    case ErrorKind::kRejected:
      return "rejected";
    case ErrorKind::kLimit:
      return "limit";
  }
  return "unknown";
}

}  // namespace semel
