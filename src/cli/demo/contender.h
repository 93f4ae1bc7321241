// Contenders: what the demo puts to a trial.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/guarantee.h"

namespace semel::cli::demo {

// How someone's own consumer, whose work is not in Redis, keeps there what it has done.
enum class RedisKeys {
  kSetNx,  // SET key 1 EX 86400 NX, then the work: as most people do it
  kGuard,  // semel::Guard around the same work
};

struct Contender {
  const char* name;
  // Over SQLite, as a config has it; for work of its own, of nothing but its queue.
  core::StrategyKind strategy;
  std::optional<RedisKeys> own_work;

  // Whether it is there to be seen failing.
  bool villain() const noexcept {
    return strategy == core::StrategyKind::kQuery || own_work == RedisKeys::kSetNx;
  }
};

std::span<const Contender> contenders() noexcept;
// Null where there is none of that name.
const Contender* contender_of(std::string_view name) noexcept;

}  // namespace semel::cli::demo
