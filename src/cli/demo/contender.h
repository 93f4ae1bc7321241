// Contenders: what the demo puts to a trial.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/guarantee.h"

namespace semel::cli::demo {

// How someone's own consumer does work that no record can commit with.
enum class OwnWork {
  kSetNx,  // Redis: SET key 1 EX 86400 NX, then the work: as most people do it
  kGuard,  // semel::Guard on Redis, around the same work
  kCall,   // a handler of semel::Runner calls a service, which forgets keys
  kKeyed,  // the same, and it honours them
};

struct Contender {
  const char* name;
  // Over SQLite, as a config has it; with Redis, of nothing but its queue.
  core::StrategyKind strategy;
  std::optional<OwnWork> own_work;

  // Whether it is there to be seen failing.
  bool villain() const noexcept {
    return strategy == core::StrategyKind::kQuery || own_work == OwnWork::kSetNx;
  }
  bool needs_redis() const noexcept {
    return own_work == OwnWork::kSetNx || own_work == OwnWork::kGuard;
  }
  bool calls() const noexcept { return own_work && !needs_redis(); }
};

std::span<const Contender> contenders() noexcept;
// Null where there is none of that name.
const Contender* contender_of(std::string_view name) noexcept;

}  // namespace semel::cli::demo
