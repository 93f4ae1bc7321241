#include <utility>

#include "strategies/kinds.h"
#include "strategies/pipeline_stats.h"
#include "strategies/strategies.h"
#include "strategies/writer_share.h"

namespace semel::strategies {
namespace {

// Calls wait for the one that writes, or for the same log of a server on its way to the disk.
bool writers_wait(const Store& store) {
  return store.traits().single_writer || store.traits().transactions;
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(core::StrategyKind kind, Context context) {
  if (!context.stats) context.stats = make_pipeline_stats(context.consumer);
  if (!context.writer_share && context.store != nullptr && writers_wait(*context.store)) {
    context.writer_share = std::make_shared<WriterShare>(*context.environment->clock);
  }
  switch (kind) {
    case core::StrategyKind::kNatural:
      return make_natural(std::move(context));
    case core::StrategyKind::kQuery:
      return make_query(std::move(context));
    case core::StrategyKind::kPessimisticLock:
      return make_pessimistic_lock(std::move(context));
    case core::StrategyKind::kOptimisticLock:
      return make_optimistic_lock(std::move(context));
    case core::StrategyKind::kDedupTable:
      return make_dedup_table(std::move(context));
    case core::StrategyKind::kInbox:
      return make_inbox(std::move(context));
    // A fence is a state machine whose messages the engine stores before their calls.
    case core::StrategyKind::kFence:
    case core::StrategyKind::kStateMachine:
      return make_state_machine(std::move(context));
    case core::StrategyKind::kAtMostOnce:
      return make_at_most_once(std::move(context));
  }
  return nullptr;
}

}  // namespace semel::strategies
