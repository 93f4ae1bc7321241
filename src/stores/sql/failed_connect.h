// FailedConnect: the result of the last attempt to connect, for threads that waited for it.
#pragma once

#include <chrono>
#include <optional>

#include "stores/sql/failure.h"
#include "system/thread_annotations.h"

namespace semel::sql {

// A connect that ends at its deadline is not repeated immediately: otherwise all threads that wait
// for the connection would wait as long, one after the other.
class FailedConnect {
 public:
  // Throws the noted failure while it is fresh.
  void check() const {
    if (failure_ && Clock::now() < until_) throw Failure(*failure_);
  }
  // Connects; notes a failure that took long.
  template <class Connect>
  void watch(Connect&& connect) SEMEL_NO_THREAD_SAFETY_ANALYSIS {
    const auto began = Clock::now();
    try {
      connect();
      failure_.reset();
    } catch (const Failure& failed) {
      if (Clock::now() - began >= kSlow) {
        failure_.emplace(failed);
        until_ = Clock::now() + kFresh;
      }
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSlow{400};
  static constexpr std::chrono::milliseconds kFresh{1'000};

  std::optional<Failure> failure_;
  Clock::time_point until_;
};

}  // namespace semel::sql
