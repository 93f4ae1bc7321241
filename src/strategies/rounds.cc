#include "strategies/rounds.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/comes_again.h"
#include "core/lane_name.h"
#include "strategies/calls.h"
#include "strategies/finish_collector.h"
#include "strategies/two_phase.h"
#include "system/mutex.h"

namespace semel::strategies {

namespace {

// The sink for everything that is reported during the rounds, also by the monitor's thread.
class Rounds final : public OutcomeSink {
 public:
  Rounds(const Context& context, std::span<core::TrackedDelivery> batch, OutcomeSink& sink)
      : context_(context), batch_(batch), sink_(sink), members_(batch.size()) {
    std::unordered_map<core::LaneName, std::size_t, core::HashOfLaneName> last;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto [before, first] = last.try_emplace(core::LaneName::of(batch[i].message), i);
      if (first) {
        round_.push_back(i);
      } else {
        members_[before->second].next = i;
        before->second = i;
      }
    }
  }

  void run() {
    FinishCollector collector(context_, *this);
    const std::vector<Call> calls = claim();
    CallRun run(context_, calls, collector, *this, HandlerMonitor::Handlers::kInTurn);
    while (!round_.empty()) {
      std::vector<std::size_t> which;
      for (const std::size_t i : round_) {
        Member& member = members_[i];
        if (member.call) {
          which.push_back(*member.call);
        } else {
          collector.add(batch_[i], *std::exchange(member.refused, std::nullopt));
        }
      }
      run.run(which);
      leave_those_behind(calls, collector);
      begin_next();
    }
  }

  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
    const auto at = static_cast<std::size_t>(&delivery - batch_.data());
    {
      const system::MutexLock lock(mutex_);
      if (leaving_) {
        outcome = kept_by_engine();
      } else if (members_[at].next && core::comes_again(outcome)) {
        stopped_.push_back({at, std::move(outcome)});
        return;
      }
    }
    sink_.ended(delivery, std::move(outcome));
  }
  void waits(bool now) noexcept override { sink_.waits(now); }
  void waited(std::optional<std::chrono::nanoseconds> time) noexcept override {
    sink_.waited(time);
  }

 private:
  struct Member {
    std::optional<std::size_t> next;  // the next message of its key
    std::optional<std::size_t> call;
    std::optional<Resolution> refused;  // the answer if there is no call
  };
  struct Stopped {
    std::size_t at;
    Outcome outcome;
  };

  std::vector<Call> claim() {
    const Claimed claimed = claim_batch(
        context_, batch_, *this, [&](core::TrackedDelivery& delivery, Resolution resolution) {
          members_[place_of(delivery)].refused = std::move(resolution);
        });
    std::vector<Call> calls = calls_of(claimed);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      members_[place_of(*calls[i].delivery)].call = i;
      calls[i].row_later = calls[i].delivery->arrival.row.has_value();
    }
    return calls;
  }
  // A claim that was refused may have a lease too: too old, or taken over.
  static Resolution given_back(const Member& member, std::span<const Call> calls) {
    if (member.call) return not_started(calls[*member.call]);
    if (!member.refused || !member.refused->finish || !member.refused->finish->lease) return {};
    Resolution resolution;
    resolution.finish = not_started(*member.refused->finish->lease);
    return resolution;
  }
  std::size_t place_of(const core::TrackedDelivery& delivery) const {
    return static_cast<std::size_t>(&delivery - batch_.data());
  }

  // Gives back all messages behind one that comes again, then ends that message.
  void leave_those_behind(std::span<const Call> calls, FinishCollector& collector)
      SEMEL_EXCLUDES(mutex_) {
    std::vector<Stopped> stopped;
    {
      const system::MutexLock lock(mutex_);
      stopped.swap(stopped_);
      leaving_ = !stopped.empty();
    }
    if (stopped.empty()) return;
    for (const Stopped& one : stopped) {
      const auto first = std::exchange(members_[one.at].next, std::nullopt);
      for (auto at = first; at; at = members_[*at].next) {
        const Member& member = members_[*at];
        collector.add(batch_[*at], given_back(member, calls), member.call);
      }
    }
    if (collector.given_back_for()) {
      collector.flush_or_give_back();
    } else {
      collector.flush();
    }
    {
      const system::MutexLock lock(mutex_);
      leaving_ = false;
    }
    for (Stopped& one : stopped) sink_.ended(batch_[one.at], std::move(one.outcome));
  }

  void begin_next() {
    std::vector<std::size_t> next;
    for (const std::size_t i : round_) {
      if (members_[i].next) next.push_back(*members_[i].next);
    }
    round_ = std::move(next);
  }

  const Context& context_;
  const std::span<core::TrackedDelivery> batch_;
  OutcomeSink& sink_;
  // Changed only between rounds, when everything has been reported.
  std::vector<Member> members_;
  std::vector<std::size_t> round_;
  system::Mutex mutex_;
  bool leaving_ SEMEL_GUARDED_BY(mutex_) = false;
  std::vector<Stopped> stopped_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace

bool runs_in_rounds(const Context& context) noexcept {
  const bool outside = std::holds_alternative<PlainHandler>(context.handler) ||
                       std::holds_alternative<BatchHandler>(context.handler);
  return outside && !context.apply && !context.steps;
}

bool needs_rounds(std::span<const core::TrackedDelivery> batch) noexcept {
  return std::ranges::any_of(batch, [](const core::TrackedDelivery& one) { return one.follows; });
}

void run_rounds(const Context& context, std::span<core::TrackedDelivery> batch, OutcomeSink& sink) {
  Rounds(context, batch, sink).run();
}

}  // namespace semel::strategies
