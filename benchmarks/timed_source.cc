#include "benchmarks/timed_source.h"

#include <fmt/format.h>
#include <poll.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <semel/memory.h>

#include "benchmarks/measure.h"
#include "benchmarks/workload.h"

namespace semel::bench {
namespace {

class TimedSource final : public Source {
 public:
  TimedSource(std::unique_ptr<Source> source, SourceTimes& times)
      : source_(std::move(source)), times_(times) {}

  const SourceTraits& traits() const noexcept override { return source_->traits(); }
  Result<Received> receive(const ReceiveLimits& limits) override {
    auto received = source_->receive(limits);
    if (!received || received->arrivals.empty()) return received;
    const std::scoped_lock lock(mutex_);
    if (!watch_) watch_.emplace();
    return received;
  }
  Wakeup wakeup() override { return source_->wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    auto settled = source_->settle(settlements);
    const std::scoped_lock lock(mutex_);
    if (!watch_ || !settled) return settled;
    times_.settled += settlements.size();
    times_.seconds = watch_->seconds();
    return settled;
  }
  Result<void> extend(std::span<const Tag> tags, std::chrono::milliseconds by) override {
    return source_->extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_->set_paused(partition, paused);
  }
  Result<void> close(std::chrono::milliseconds deadline) override {
    return source_->close(deadline);
  }

 private:
  std::unique_ptr<Source> source_;
  SourceTimes& times_;
  std::mutex mutex_;
  std::optional<Stopwatch> watch_;
};

constexpr double kLongestSilence = 30;  // seconds

void wait_for_more(Source& source, const Stopwatch& idle) {
  if (idle.seconds() > kLongestSilence) give_up("the source brings nothing");
  const Wakeup wakeup = source.wakeup();
  pollfd entry{wakeup.fd, POLLIN, 0};
  ::poll(&entry, 1, wakeup.due_in ? static_cast<int>(wakeup.due_in->count()) : 1'000);
}

}  // namespace

std::unique_ptr<Source> timed(std::unique_ptr<Source> source, SourceTimes& times) {
  return std::make_unique<TimedSource>(std::move(source), times);
}

double source_alone(std::unique_ptr<Source> source, std::size_t messages) {
  SourceTimes times;
  const auto watched = timed(std::move(source), times);
  std::vector<Settlement> settlements;
  Stopwatch idle;
  while (times.settled < messages) {
    auto received = watched->receive({});
    if (!received) give_up(received.error().message);
    if (received->arrivals.empty()) {
      wait_for_more(*watched, idle);
      continue;
    }
    idle = Stopwatch();
    settlements.clear();
    for (const Arrival& arrival : received->arrivals) {
      settlements.push_back({arrival.tag, Settlement::Kind::kAck, {}});
    }
    if (const auto settled = watched->settle(settlements); !settled) {
      give_up(settled.error().message);
    }
  }
  if (const auto closed = watched->close(std::chrono::seconds(5)); !closed) {
    give_up(closed.error().message);
  }
  return times.rate();
}

double through_consumer(Store& store, const ConsumerRun& run, std::unique_ptr<Source> source,
                        std::size_t messages) {
  SourceTimes times;
  consume_from(store, run, timed(std::move(source), times));
  if (times.settled < messages) {
    give_up(fmt::format("{} of {} messages were settled", times.settled, messages));
  }
  return times.rate();
}

double through_engine(std::unique_ptr<Source> source, std::size_t messages) {
  const auto store = make_memory_store({kBatch, nullptr});
  ConsumerRun run;
  run.strategy = core::StrategyKind::kNatural;
  run.set_idle_handler(false);
  const double rate = through_consumer(*store, run, std::move(source), messages);
  if (*run.calls < messages) {
    give_up(
        fmt::format("the handler was called for {} of {} messages", run.calls->load(), messages));
  }
  return rate;
}

}  // namespace semel::bench
