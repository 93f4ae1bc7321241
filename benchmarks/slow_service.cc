#include "benchmarks/slow_service.h"

#include <utility>

namespace semel::bench {

namespace {

// How exactly times are kept: a thread that is woken for each answer would answer little else.
constexpr std::chrono::microseconds kTick{50};

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
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    auto takes = std::chrono::microseconds(static_cast<std::int64_t>(
        (random_ >> 33U) % (static_cast<std::uint64_t>(longest_.count()) + 1)));
    if (!slow_key_.empty() && message.ordering_key() == slow_key_) takes = slow_takes_;
    const bool idle = open_.empty();
    open_.push({now + takes, now, std::move(completion)});
    if (idle) changed_.notify_one();
  };
}

double SlowService::open_seconds() const {
  const std::scoped_lock lock(mutex_);
  return open_seconds_;
}

void SlowService::serve() {
  std::vector<Completion> due;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !open_.empty(); });
    if (open_.empty()) return;
    const auto now = Clock::now();
    while (!open_.empty() && open_.top().due <= now) {
      open_seconds_ += std::chrono::duration<double>(now - open_.top().begun).count();
      due.push_back(std::move(open_.top().completion));
      open_.pop();
    }
    lock.unlock();
    for (Completion& completion : due) completion(done());
    due.clear();
    std::this_thread::sleep_for(kTick);
    lock.lock();
  }
}

}  // namespace semel::bench
