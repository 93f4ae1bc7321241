// Contenders: the approaches that the demo puts on trial.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/guarantee.h"

namespace semel::cli::demo {

// How a hand-written consumer does work that no record can commit with.
enum class OwnWork {
  kSetNx,  // Redis: SET key 1 EX 86400 NX, then the work: the common approach
  kGuard,  // semel::Guard on Redis, around the same work
  kCall,   // a handler of semel::Runner calls a service that ignores keys
  kKeyed,  // the same with a service that honours keys
};

struct Contender {
  const char* name;
  // The strategy of its config over SQLite; for work on Redis it is only that of its queue.
  core::StrategyKind strategy;
  std::optional<OwnWork> own_work;

  // Whether the demo includes it to show how it fails.
  bool villain() const noexcept {
    return strategy == core::StrategyKind::kQuery || own_work == OwnWork::kSetNx;
  }
  bool needs_redis() const noexcept {
    return own_work == OwnWork::kSetNx || own_work == OwnWork::kGuard;
  }
  bool calls() const noexcept { return own_work && !needs_redis(); }
};

std::span<const Contender> contenders() noexcept;
// Null if no contender has that name.
const Contender* contender_of(std::string_view name) noexcept;

}  // namespace semel::cli::demo
