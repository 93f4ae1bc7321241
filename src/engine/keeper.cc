#include "engine/keeper.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <stop_token>

namespace semel::engine {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kShortestTick{5};
constexpr milliseconds kLongestTick{50};

// With nothing locked: what hangs on a stop token is the user's, and may answer its call there.
void fire(std::vector<std::stop_source>& stops) {
  for (std::stop_source& stop : stops) stop.request_stop();
}

milliseconds tick_for(const KeeperOptions& options) {
  milliseconds tick = options.lease / 12;
  if (options.timeout.count() > 0) tick = std::min(tick, options.timeout / 4);
  return std::clamp(tick, kShortestTick, kLongestTick);
}

}  // namespace

class ThreadKeeper::BatchWatch final : public strategies::Keeper::Watch {
 public:
  BatchWatch(ThreadKeeper& keeper, std::span<const Lease> leases, Handlers handlers,
             std::size_t calls, TimePoint now)
      : keeper_(keeper), handlers_(handlers) {
    entries_.resize(std::max({std::size_t{1}, leases.size(), calls}));
    for (std::size_t i = 0; i < leases.size(); ++i) {
      entries_[i].lease = leases[i];
      entries_[i].renewed = now;
    }
  }
  ~BatchWatch() override { keeper_.remove(this); }

  std::stop_token handler_begins(std::size_t lease) override {
    // What has called outside is begun: its second part is done in a drain too.
    const bool second = handlers_ == Handlers::kSecondPart;
    if (!second && keeper_.options_.draining && keeper_.options_.draining()) {
      std::stop_source begins_no_more;
      begins_no_more.request_stop();
      return begins_no_more.get_token();
    }
    const system::MutexLock lock(mutex_);
    Entry& entry = entry_of(lease);
    const TimePoint now = keeper_.options_.environment->clock->now();
    // After a long stop of the process this thread may come before the one that would renew, and
    // be refused.
    if (entry.lease && now - entry.renewed >= keeper_.options_.lease) entry.lost = true;
    entry.begun = now;
    // Handlers of one transaction share a source until it has fired: making one costs an
    // allocation.
    if (!in_transaction() || !entry.stop.stop_possible() || entry.stop.stop_requested()) {
      entry.stop = std::stop_source();
    }
    if (stopped_ || entry.lost) entry.stop.request_stop();
    return entry.stop.get_token();
  }
  void handler_ended(std::size_t lease) override {
    const system::MutexLock lock(mutex_);
    entry_of(lease).begun.reset();
  }
  void finished(std::size_t lease) override {
    const system::MutexLock lock(mutex_);
    entry_of(lease).lease.reset();
  }
  bool cancelled() const override {
    const system::MutexLock lock(mutex_);
    return stopped_;
  }
  void on_tick(std::function<void()> action) override {
    const system::MutexLock lock(mutex_);
    on_tick_ = std::move(action);
  }

 private:
  friend class ThreadKeeper;
  struct Entry {
    std::optional<Lease> lease;
    TimePoint renewed{};
    std::optional<TimePoint> begun;
    std::stop_source stop{std::nostopstate};  // until its handler begins
    bool lost = false;
  };

  bool in_transaction() const noexcept {
    return handlers_ == Handlers::kInTransaction || handlers_ == Handlers::kSecondPart;
  }
  // Handlers of a transaction run one after the other: without leases they share the one entry.
  Entry& entry_of(std::size_t lease) SEMEL_REQUIRES(mutex_) {
    return entries_[lease < entries_.size() ? lease : 0];
  }

  ThreadKeeper& keeper_;
  const Handlers handlers_;
  mutable system::Mutex mutex_;
  std::vector<Entry> entries_ SEMEL_GUARDED_BY(mutex_);
  std::function<void()> on_tick_ SEMEL_GUARDED_BY(mutex_);
  bool stopped_ SEMEL_GUARDED_BY(mutex_) = false;
};

ThreadKeeper::ThreadKeeper(KeeperOptions options)
    : options_(std::move(options)), tick_(tick_for(options_)), thread_([this] { loop(); }) {}

ThreadKeeper::~ThreadKeeper() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::unique_ptr<strategies::Keeper::Watch> ThreadKeeper::watch(std::span<const Lease> leases,
                                                               Handlers handlers,
                                                               std::size_t calls) {
  auto watch = std::make_unique<BatchWatch>(*this, leases, handlers, calls,
                                            options_.environment->clock->now());
  bool asleep = false;
  {
    const system::MutexLock lock(mutex_);
    {
      const system::MutexLock inner(watch->mutex_);
      watch->stopped_ = stopping_all_;
    }
    watches_.push_back(watch.get());
    asleep = idle_;
  }
  if (asleep) wake_.notify_one();
  return watch;
}

void ThreadKeeper::remove(BatchWatch* watch) noexcept {
  const system::MutexLock lock(mutex_);
  looked_.wait(mutex_, [&]() SEMEL_REQUIRES(mutex_) { return looking_at_ != watch; });
  std::erase(watches_, watch);
}

void ThreadKeeper::stop_all() noexcept {
  std::vector<std::stop_source> stops;
  {
    const system::MutexLock lock(mutex_);
    stopping_all_ = true;
    for (BatchWatch* watch : watches_) {
      const system::MutexLock inner(watch->mutex_);
      watch->stopped_ = true;
      for (auto& entry : watch->entries_) stops.push_back(entry.stop);
    }
  }
  fire(stops);
}

void ThreadKeeper::loop() {
  system::RelockableLock lock(mutex_);
  while (!ending_) {
    if (watches_.empty()) {
      idle_ = true;
      wake_.wait(mutex_, [&]() SEMEL_REQUIRES(mutex_) { return ending_ || !watches_.empty(); });
      idle_ = false;
    }
    wake_.wait_for(mutex_, tick_, [&]() SEMEL_REQUIRES(mutex_) { return ending_; });
    if (ending_) return;
    // Work on a copy: a watch may end, and another begin, while one is looked after.
    const std::vector<BatchWatch*> now_watched = watches_;
    for (BatchWatch* watch : now_watched) {
      if (std::find(watches_.begin(), watches_.end(), watch) == watches_.end()) continue;
      looking_at_ = watch;
      lock.unlock();
      look_after(*watch, options_.environment->clock->now());
      lock.lock();
      looking_at_ = nullptr;
      looked_.notify_all();
    }
    if (options_.tick) {
      lock.unlock();
      options_.tick();
      lock.lock();
    }
  }
}

bool ThreadKeeper::past(TimePoint begun, TimePoint now, milliseconds more) const noexcept {
  return options_.timeout.count() > 0 && now - begun >= options_.timeout + more;
}

void ThreadKeeper::look_after(BatchWatch& watch, TimePoint now) {
  std::function<void()> on_tick;
  std::vector<std::stop_source> stops;
  {
    const system::MutexLock lock(watch.mutex_);
    on_tick = watch.on_tick_;
    for (auto& entry : watch.entries_) {
      if (!entry.begun || !past(*entry.begun, now, milliseconds{0})) continue;
      stops.push_back(entry.stop);
      if (watch.in_transaction() && options_.hung && past(*entry.begun, now, options_.grace)) {
        options_.hung("a handler holds the store's transaction past its timeout and grace");
      }
    }
  }
  fire(stops);
  renew(watch, now);
  // Without the watch's lock: it may end leases.
  if (on_tick) on_tick();
}

void ThreadKeeper::renew(BatchWatch& watch, TimePoint now) {
  std::vector<Lease> due;
  std::vector<std::size_t> which;
  {
    const system::MutexLock lock(watch.mutex_);
    const auto hangs = [&](const BatchWatch::Entry& entry) {
      return entry.begun && past(*entry.begun, now, options_.grace);
    };
    // A handler that hangs keeps those behind it from running: all of them lapse, to run elsewhere.
    const bool together = watch.handlers_ == Handlers::kTogether;
    if (!together && std::any_of(watch.entries_.begin(), watch.entries_.end(), hangs)) return;
    for (std::size_t i = 0; i < watch.entries_.size(); ++i) {
      auto& entry = watch.entries_[i];
      if (!entry.lease || entry.lost || now - entry.renewed < options_.lease / 3) continue;
      if (together && hangs(entry)) continue;
      due.push_back(*entry.lease);
      which.push_back(i);
    }
  }
  if (due.empty()) return;
  auto applied = options_.store->renew(due, options_.lease);
  // A store that is away is no reason to stop the handler: the lease may well outlive the trouble,
  // and finish will tell.
  if (!applied) return;
  std::vector<std::stop_source> stops;
  {
    const system::MutexLock lock(watch.mutex_);
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto& entry = watch.entries_[which[k]];
      if ((*applied)[k] == Applied::kYes) {
        entry.renewed = now;
      } else if (entry.lease) {
        entry.lost = true;
        stops.push_back(entry.stop);
      }
    }
  }
  fire(stops);
}

}  // namespace semel::engine
