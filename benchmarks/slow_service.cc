#include "benchmarks/slow_service.h"

#include <algorithm>
#include <utility>

namespace semel::bench {

namespace {

// A thread that is woken for each answer would answer little else.
constexpr std::chrono::microseconds kRest{50};
// How exactly times are kept.
constexpr std::chrono::microseconds kTick{10};

std::int64_t tick_of(std::chrono::steady_clock::time_point at) {
  return at.time_since_epoch() / kTick;
}

}  // namespace

SlowService::SlowService(std::chrono::microseconds longest)
    : longest_(longest), thread_([this] { serve(); }) {}

SlowService::~SlowService() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

AsyncHandler SlowService::handler() {
  return [this](const Message& message, const Attempt&, Completion completion) {
    call(message.ordering_key(), std::move(completion));
  };
}

void SlowService::call(BytesView ordering_key, Completion completion) {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  auto takes = std::chrono::microseconds(static_cast<std::int64_t>(
      (random_ >> 33U) % (static_cast<std::uint64_t>(longest_.count()) + 1)));
  if (!slow_key_.empty() && ordering_key == slow_key_) takes = slow_takes_;
  const auto due = now + takes;
  if (open_++ == 0) {
    first_tick_ = tick_of(now);
    changed_.notify_one();
  }
  // A tick that has been looked at does not come again.
  const auto at = static_cast<std::size_t>(std::max<std::int64_t>(tick_of(due) - first_tick_, 0));
  if (at >= ticks_.size()) ticks_.resize(at + 1);
  ticks_[at].push_back({now, due, std::move(completion)});
}

std::size_t SlowService::answered() const {
  const std::scoped_lock lock(mutex_);
  return answered_;
}

double SlowService::asked_seconds() const {
  const std::scoped_lock lock(mutex_);
  return asked_seconds_;
}

double SlowService::late_seconds() const {
  const std::scoped_lock lock(mutex_);
  return late_seconds_;
}

// Whole ticks that are over: nothing is answered before it is due.
void SlowService::take_due(Clock::time_point now, std::vector<Open>& due) {
  for (const std::int64_t end = tick_of(now); first_tick_ < end && due.size() < open_;
       ++first_tick_) {
    auto& calls = ticks_.front();
    std::move(calls.begin(), calls.end(), std::back_inserter(due));
    calls.clear();
    ticks_.push_back(std::move(calls));
    ticks_.pop_front();
  }
  using Seconds = std::chrono::duration<double>;
  for (const Open& open : due) {
    asked_seconds_ += Seconds(open.due - open.begun).count();
    const auto in_completions = answered_until_ - std::max(answered_from_, open.due);
    late_seconds_ += Seconds(now - open.due - std::max(in_completions, Clock::duration(0))).count();
  }
  open_ -= due.size();
  answered_ += due.size();
}

void SlowService::serve() {
  std::vector<Open> due;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || open_ > 0; });
    if (open_ == 0) return;
    take_due(Clock::now(), due);
    lock.unlock();
    const auto from = Clock::now();
    for (Open& open : due) open.completion(done());
    due.clear();
    const auto until = Clock::now();
    std::this_thread::sleep_for(kRest);
    lock.lock();
    answered_from_ = from;
    answered_until_ = until;
  }
}

}  // namespace semel::bench
