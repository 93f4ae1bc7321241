#include "cli/exit_code.h"

#include <string_view>

namespace semel::cli {

namespace {

// What only a change of config, program or machine mends: a service manager must not start again.
constexpr std::string_view kNeedsChange[] = {"R204", "R209", "R210", "R220", "R251", "R252",
                                             "R257", "R258", "R259", "R263", "R264", "R265",
                                             "R267", "R269", "R280", "R282", "R308"};
constexpr std::string_view kNotPermitted[] = {"R203", "R253", "R291"};

}  // namespace

ExitCode exit_code_of(const Error& error) noexcept {
  for (const auto code : kNotPermitted) {
    if (error.code == code) return kNoPermission;
  }
  for (const auto code : kNeedsChange) {
    if (error.code == code) return kConfig;
  }
  if (error.code.starts_with('E')) return kConfig;
  switch (error.kind) {
    case ErrorKind::kUnavailable:
    case ErrorKind::kInDoubt:
    case ErrorKind::kRetryTransaction:
    case ErrorKind::kBlocked:
      return kUnavailable;
    case ErrorKind::kRejected:
      return error.code.starts_with("R2") ? kUnavailable : kBad;
    case ErrorKind::kLimit:
      return kBad;
  }
  return kInternal;
}

}  // namespace semel::cli
