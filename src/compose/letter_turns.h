// LetterTurns: removes the expired dead letters of a run, whose config may change.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <semel/observer.h>
#include <semel/result.h>
#include <semel/spi/store.h>

#include "compose/letter_expiry.h"
#include "config/config.h"

namespace semel::compose {

// One thread at a time, except change.
class LetterTurns {
 public:
  using CurrentConfig = std::function<std::shared_ptr<const config::Config>()>;
  // Borrows the store and the observer. `current`: null in a run that removes nothing.
  LetterTurns(Store& store, Observer& observer, CurrentConfig current)
      : store_(store), observer_(observer), current_(std::move(current)) {}

  // Looks the consumers up in the store.
  Result<void> look();
  // The config, or a consumer's number, may have changed: the next turn looks them up. Thread-safe.
  void change() noexcept { changed_ = true; }
  // Removes for at most about `budget`; true where more is left. A store that does not answer is
  // asked again at the next turn.
  bool run(std::chrono::milliseconds budget);

 private:
  Store& store_;
  Observer& observer_;
  const CurrentConfig current_;
  std::atomic<bool> changed_{false};
  std::optional<LetterExpiry> letters_;
  std::string stand_still_;  // why nothing expires; empty: it does
};

}  // namespace semel::compose
