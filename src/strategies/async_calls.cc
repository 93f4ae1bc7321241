#include "strategies/async_calls.h"

#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include <semel/environment.h>

#include "core/failpoints.h"
#include "strategies/step_run.h"

namespace semel::strategies {

struct AsyncCalls::Batch {
  std::vector<Call> calls;
  std::vector<Attempt> attempts;
  std::unique_ptr<HandlerMonitor::Watch> watch;
  OutcomeSink* sink = nullptr;
};

// One call from its beginning to its answer, which comes from its completion, from the handler's
// exception, or from a dropped completion. Only the first of these counts.
class AsyncCalls::Begun {
 public:
  Begun(AsyncCalls& calls, std::shared_ptr<Batch> batch, std::size_t index)
      : calls_(calls), batch_(std::move(batch)), index_(index) {}

  // Stack unwinding drops the completion before the exception is caught. So until the handler has
  // returned, a drop is only remembered.
  void told(std::optional<Verdict> verdict) SEMEL_EXCLUDES(mutex_) {
    {
      const system::MutexLock lock(mutex_);
      dropped_ = !verdict;
      if (answered_ || (dropped_ && beginning_)) return;
      answered_ = true;
    }
    answer(decide_answer(calls_.context_, batch_->attempts[index_], std::move(verdict)));
  }

  void returned(std::optional<Decision> thrown) SEMEL_EXCLUDES(mutex_) {
    {
      const system::MutexLock lock(mutex_);
      beginning_ = false;
      if (answered_ || (!thrown && !dropped_)) return;
      answered_ = true;
    }
    answer(thrown ? *std::move(thrown)
                  : decide_answer(calls_.context_, batch_->attempts[index_], std::nullopt));
  }

 private:
  void answer(Decision decision) {
    failpoint::hit(*calls_.context_.environment, failpoint::kHandlerAfter);
    HandlerMonitor::Watch* const watch = batch_->watch.get();
    if (watch != nullptr) watch->handler_ended(index_);
    forgive_if_cancelled(decision, watch);
    calls_.take_down({std::move(batch_), index_, std::move(decision)});
  }

  AsyncCalls& calls_;
  std::shared_ptr<Batch> batch_;
  const std::size_t index_;
  system::Mutex mutex_;
  bool beginning_ SEMEL_GUARDED_BY(mutex_) = true;
  bool dropped_ SEMEL_GUARDED_BY(mutex_) = false;
  bool answered_ SEMEL_GUARDED_BY(mutex_) = false;
};

void AsyncCalls::begin(std::vector<Call> calls, OutcomeSink& sink) {
  if (calls.empty()) return;
  auto batch = std::make_shared<Batch>();
  batch->calls = std::move(calls);
  batch->sink = &sink;
  batch->watch = watch_over(context_, batch->calls, HandlerMonitor::Handlers::kTogether);
  batch->attempts.reserve(batch->calls.size());
  for (const Call& call : batch->calls) batch->attempts.push_back(attempt_of(context_, call));
  for (std::size_t i = 0; i < batch->calls.size(); ++i) begin_one(batch, i);
}

void AsyncCalls::begin_one(const std::shared_ptr<Batch>& batch, std::size_t index) {
  Attempt& attempt = batch->attempts[index];
  if (batch->watch) attempt.stop = batch->watch->handler_begins(index);
  if (attempt.stop.stop_requested()) {
    batch->watch->handler_ended(index);
    take_down({batch, index, std::nullopt});
    return;
  }
  auto refused = refuse_unkept(batch->calls[index].delivery->message);
  if (!refused) refused = refuse_journalled(context_, batch->calls[index]);
  if (refused) {
    if (batch->watch) batch->watch->handler_ended(index);
    take_down({batch, index, std::move(refused)});
    return;
  }
  failpoint::hit(*context_.environment, failpoint::kHandlerBefore);
  const auto begun = std::make_shared<Begun>(*this, batch, index);
  std::optional<Decision> thrown;
  try {
    std::get<AsyncHandler>(context_.handler)(
        batch->calls[index].delivery->message, attempt,
        Completion([begun](std::optional<Verdict> verdict) { begun->told(std::move(verdict)); }));
  } catch (...) {
    thrown = decide_thrown(attempt);
  }
  begun->returned(std::move(thrown));
}

void AsyncCalls::take_down(Answered answered) {
  // Do this before the answer can be recorded: afterwards the delivery and this batch may be gone.
  answered.batch->calls[answered.index].delivery->answered = true;
  context_.services.completer->answered();
  {
    const system::MutexLock lock(mutex_);
    answered_.push_back(std::move(answered));
    if (std::exchange(posted_, true)) return;
  }
  context_.services.completer->post([this] { record_all(); });
}

// Records one round of answers; later answers belong to the next round, which is posted separately.
void AsyncCalls::record_all() {
  std::vector<Answered> answered;
  {
    const system::MutexLock lock(mutex_);
    answered.swap(answered_);
    posted_ = false;
  }
  if (answered.empty()) return;
  FinishCollector collector(context_, *answered.front().batch->sink);
  std::vector<Made> made;
  for (Answered& one : answered) {
    const Call& call = one.batch->calls[one.index];
    HandlerMonitor::Watch* const watch = one.batch->watch.get();
    if (context_.apply && one.decision && one.decision->has_effect()) {
      if (watch != nullptr) watch->finished(one.index);
      made.push_back({call, std::move(one.decision->result), std::move(one.decision->publications),
                      one.batch->sink});
      continue;
    }
    collector.add(*call.delivery,
                  one.decision ? ending_of(context_, call, *one.decision) : not_started(call),
                  *one.batch->sink, watch, one.index);
  }
  collector.flush();
  apply_all(context_, made);
}

}  // namespace semel::strategies
