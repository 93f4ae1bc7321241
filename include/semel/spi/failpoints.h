// Failpoints: named points of a store at which a test may stop, delay or kill the process.
//
// A store calls `failpoint::hit` where a call begins, before and after each commit, and between the
// steps of a commit that has several. Tests rely on the names below; a store may have others of its
// own. Without failpoints in its Environment a hit costs one comparison.
#pragma once

#include <string_view>

#include <semel/environment.h>

namespace semel {

// Implemented by tests; the library has none.
class Failpoints {
 public:
  virtual ~Failpoints() = default;
  // Called when a thread passes `point`, from any thread.
  virtual void hit(std::string_view point) noexcept = 0;
};

namespace failpoint {

inline constexpr std::string_view kBegun = "begun";      // a call has begun, nothing is done
inline constexpr std::string_view kClaimed = "claimed";  // a claim is made, its answer not given
inline constexpr std::string_view kFlushed = "flushed";  // a handler's statements have run
inline constexpr std::string_view kConfirmed = "confirmed";  // UnitOfWork::confirm is done
inline constexpr std::string_view kFinished = "finished";    // a finish is done, and not committed
inline constexpr std::string_view kCommitBefore = "commit.before";
inline constexpr std::string_view kCommitAfter = "commit.after";

inline void hit(const Environment& environment, std::string_view point) noexcept {
  if (environment.failpoints != nullptr) [[unlikely]]
    environment.failpoints->hit(point);
}

}  // namespace failpoint
}  // namespace semel
