#include "cli/demo/contender.h"

#include <algorithm>

namespace semel::cli::demo {

using core::StrategyKind;

std::span<const Contender> contenders() noexcept {
  static constexpr Contender kAll[] = {
      {"query", StrategyKind::kQuery, {}},
      {"set_nx", StrategyKind::kDedupTable, OwnWork::kSetNx},
      {"natural", StrategyKind::kNatural, {}},
      {"pessimistic_lock", StrategyKind::kPessimisticLock, {}},
      {"optimistic_lock", StrategyKind::kOptimisticLock, {}},
      {"dedup_table", StrategyKind::kDedupTable, {}},
      {"inbox", StrategyKind::kInbox, {}},
      {"state_machine", StrategyKind::kStateMachine, {}},
      {"redis_guard", StrategyKind::kDedupTable, OwnWork::kGuard},
      {"plain_call", StrategyKind::kStateMachine, OwnWork::kCall},
      {"fence", StrategyKind::kFence, OwnWork::kKeyed},
      {"at_most_once", StrategyKind::kAtMostOnce, OwnWork::kCall},
  };
  return kAll;
}

const Contender* contender_of(std::string_view name) noexcept {
  const auto all = contenders();
  const auto found =
      std::ranges::find(all, name, [](const Contender& one) { return std::string_view(one.name); });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace semel::cli::demo
