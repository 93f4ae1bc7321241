#include "strategies/recordless.h"

#include <memory>
#include <utility>
#include <variant>

#include "strategies/decision.h"
#include "strategies/entries.h"
#include "strategies/finisher.h"
#include "strategies/pipeline.h"

namespace semel::strategies {

namespace {

void run_plain(const Context& context, std::span<Delivery* const> batch, EndingSink& sink) {
  const Endings endings(context, false);
  Finisher finisher(context, sink);
  std::unique_ptr<Keeper::Watch> watch;
  if (context.keeper != nullptr) {
    watch = context.keeper->watch({}, false);
    watch->on_tick([&] { finisher.flush_beside_handler(); });
  }
  for (Delivery* const delivery : batch) {
    const Right right = Right::without_record(delivery->arrival);
    Attempt attempt;
    attempt.number = right.attempt;
    if (watch) attempt.stop = watch->handler_begins(0);
    if (attempt.stop.stop_requested()) {
      watch->handler_ended(0);
      Ending ending;
      ending.outcome.kind = Outcome::Kind::kBusy;
      ending.outcome.settle = Outcome::Settle::kRelease;
      finisher.add(*delivery, std::move(ending));
      continue;
    }
    Decision decision = call_handler(context, delivery->message, attempt);
    if (watch) watch->handler_ended(0);
    forgive_if_cancelled(decision, watch.get());
    Ending ending = endings.of_decision(right, decision, *delivery);
    // Without a record nothing is gained by deleting the row in a commit of its own.
    if (ending.finish && ending.finish->to == Finish::To::kAckOnly) {
      ending.finish.reset();
      ending.outcome.settle = Outcome::Settle::kAck;
    }
    finisher.add(*delivery, std::move(ending));
    finisher.flush_if_due();
  }
  watch.reset();
  finisher.flush();
}

}  // namespace

void run_without_record(const Context& context, std::span<Delivery* const> batch,
                        EndingSink& sink) {
  if (std::holds_alternative<PlainHandler>(context.handler)) {
    run_plain(context, batch, sink);
    return;
  }
  RecordlessEntry entry(batch);
  Pipeline(context, PipelineOptions{}).run(batch, entry, sink);
}

}  // namespace semel::strategies
