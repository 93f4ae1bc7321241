#include "strategies/lease_renewer.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>

namespace semel::strategies {

using std::chrono::milliseconds;

namespace {

// A lease is renewed after this fraction of its length; looks are more frequent, to renew
// punctually.
constexpr int kRenewAt = 3;
constexpr int kLooksPerLease = 12;
constexpr int kLooksPerTimeout = 4;
constexpr milliseconds kShortestPause{5};

// Must be called without a lock: callbacks on a stop token are the user's code, and may answer
// their call there.
void fire_all(std::vector<std::stop_source>& stops) {
  for (std::stop_source& stop : stops) stop.request_stop();
}

milliseconds pause_between_looks(const LeaseRenewerOptions& options) {
  milliseconds pause = options.lease / kLooksPerLease;
  if (options.timeout.count() > 0) pause = std::min(pause, options.timeout / kLooksPerTimeout);
  return std::clamp(pause, kShortestPause, std::max(kShortestPause, options.longest_pause));
}

}  // namespace

// Shared by a batch and the thread: a batch may end while its leases are being renewed.
struct LeaseRenewer::Watched {
  struct Entry {
    std::optional<Lease> lease;
    Elapsed renewed{};
    std::optional<TimePoint> begun;
    std::stop_source stop{std::nostopstate};  // no state until its handler begins
    bool lost = false;
  };

  Watched(std::span<const Lease> leases, Handlers which, std::size_t calls,
          std::span<const Elapsed> asked, Elapsed now)
      : handlers(which) {
    entries.resize(std::max({std::size_t{1}, leases.size(), calls}));
    for (std::size_t i = 0; i < leases.size(); ++i) {
      entries[i].lease = leases[i];
      entries[i].renewed = i < asked.size() ? asked[i] : now;
    }
  }

  bool in_transaction() const noexcept {
    return handlers == Handlers::kInTransaction || handlers == Handlers::kSecondPart;
  }
  // Handlers of one transaction run one after the other, so without leases they share one entry.
  Entry& entry_of(std::size_t lease) SEMEL_REQUIRES(mutex) {
    return entries[lease < entries.size() ? lease : 0];
  }

  const Handlers handlers;
  mutable system::Mutex mutex;
  system::CondVar ticked;
  std::vector<Entry> entries SEMEL_GUARDED_BY(mutex);  // empty: the watch has ended
  std::function<void()> on_tick SEMEL_GUARDED_BY(mutex);
  bool ticking SEMEL_GUARDED_BY(mutex) = false;  // the thread is inside on_tick
  bool stopped SEMEL_GUARDED_BY(mutex) = false;
};

class LeaseRenewer::BatchWatch final : public Watch {
 public:
  BatchWatch(LeaseRenewer& renewer, std::shared_ptr<Watched> watched)
      : renewer_(renewer), watched_(std::move(watched)) {}
  ~BatchWatch() override {
    {
      const system::MutexLock lock(watched_->mutex);
      watched_->ticked.wait(
          watched_->mutex, [this]() SEMEL_REQUIRES(watched_->mutex) { return !watched_->ticking; });
      watched_->entries.clear();
      watched_->on_tick = nullptr;
    }
    renewer_.forget(watched_.get());
  }

  std::stop_token handler_begins(std::size_t lease) override {
    // The call of a two-part message was made, so its second part runs even during a drain.
    const bool second = watched_->handlers == Handlers::kSecondPart;
    if (!second && renewer_.options_.draining && renewer_.options_.draining()) {
      std::stop_source begins_no_more;
      begins_no_more.request_stop();
      return begins_no_more.get_token();
    }
    const system::MutexLock lock(watched_->mutex);
    Watched::Entry& entry = watched_->entry_of(lease);
    Clock& clock = *renewer_.options_.clock;
    // After the process or the machine stood still for long, this thread may run before the one
    // that would renew the lease and be refused.
    if (entry.lease && clock.elapsed() - entry.renewed >= renewer_.options_.lease) {
      entry.lost = true;
    }
    entry.begun = clock.now();
    // Handlers of one transaction share a stop source until it has fired, because making one costs
    // an allocation.
    if (!watched_->in_transaction() || !entry.stop.stop_possible() || entry.stop.stop_requested()) {
      entry.stop = std::stop_source();
    }
    if (watched_->stopped || entry.lost) entry.stop.request_stop();
    return entry.stop.get_token();
  }
  void handler_ended(std::size_t lease) override {
    const system::MutexLock lock(watched_->mutex);
    watched_->entry_of(lease).begun.reset();
  }
  void finished(std::size_t lease) override {
    const system::MutexLock lock(watched_->mutex);
    watched_->entry_of(lease).lease.reset();
  }
  bool cancelled() const override {
    const system::MutexLock lock(watched_->mutex);
    return watched_->stopped;
  }
  bool draining() const override {
    return cancelled() || (renewer_.options_.draining && renewer_.options_.draining());
  }
  void on_tick(std::function<void()> action) override {
    const system::MutexLock lock(watched_->mutex);
    watched_->on_tick = std::move(action);
  }

 private:
  LeaseRenewer& renewer_;
  const std::shared_ptr<Watched> watched_;
};

LeaseRenewer::LeaseRenewer(LeaseRenewerOptions options)
    : options_(std::move(options)),
      pause_(pause_between_looks(options_)),
      thread_([this] { loop(); }) {}

LeaseRenewer::~LeaseRenewer() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::unique_ptr<HandlerMonitor::Watch> LeaseRenewer::watch(std::span<const Lease> leases,
                                                           Handlers handlers, std::size_t calls,
                                                           std::span<const Elapsed> asked) {
  auto watched =
      std::make_shared<Watched>(leases, handlers, calls, asked, options_.clock->elapsed());
  auto watch = std::make_unique<BatchWatch>(*this, watched);
  bool asleep = false;
  {
    const system::MutexLock lock(mutex_);
    {
      const system::MutexLock inner(watched->mutex);
      watched->stopped = stopping_all_;
    }
    watched_.push_back(std::move(watched));
    asleep = std::exchange(asleep_, false);
  }
  if (asleep) wake_.notify_one();
  return watch;
}

void LeaseRenewer::forget(const Watched* watched) noexcept {
  const system::MutexLock lock(mutex_);
  std::erase_if(watched_, [watched](const auto& one) { return one.get() == watched; });
}

void LeaseRenewer::stop_all() noexcept {
  std::vector<std::stop_source> stops;
  {
    const system::MutexLock lock(mutex_);
    stopping_all_ = true;
    for (const auto& watched : watched_) {
      const system::MutexLock inner(watched->mutex);
      watched->stopped = true;
      for (const auto& entry : watched->entries) stops.push_back(entry.stop);
    }
  }
  fire_all(stops);
}

void LeaseRenewer::loop() {
  system::RelockableLock lock(mutex_);
  while (!ending_) {
    if (watched_.empty()) {
      asleep_ = true;
      wake_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return ending_ || !asleep_; });
    }
    wake_.wait_for(mutex_, pause_, [this]() SEMEL_REQUIRES(mutex_) { return ending_; });
    if (ending_) return;
    // Works on a copy: a watch may end, and another begin, during this round.
    const auto now_watched = watched_;
    lock.unlock();
    std::size_t hanging = 0;
    for (const auto& watched : now_watched) {
      if (look_after(*watched, options_.clock->now())) ++hanging;
    }
    if (options_.tick) options_.tick(hanging);
    lock.lock();
  }
}

bool LeaseRenewer::past(TimePoint begun, TimePoint now, milliseconds more) const noexcept {
  return options_.timeout.count() > 0 && now - begun >= options_.timeout + more;
}

bool LeaseRenewer::look_after(Watched& watched, TimePoint now) {
  std::vector<std::stop_source> stops;
  bool hangs = false;
  {
    const system::MutexLock lock(watched.mutex);
    for (auto& entry : watched.entries) {
      if (!entry.begun || !past(*entry.begun, now, milliseconds{0})) continue;
      stops.push_back(entry.stop);
      hangs = hangs || past(*entry.begun, now, options_.grace);
    }
  }
  if (hangs && watched.in_transaction() && options_.hung) {
    options_.hung("a handler holds the store's transaction past its timeout and grace");
  }
  fire_all(stops);
  renew(watched);
  std::function<void()> on_tick;
  {
    const system::MutexLock lock(watched.mutex);
    if (!watched.on_tick) return hangs;
    on_tick = watched.on_tick;
    watched.ticking = true;
  }
  // Call it without the watch's lock, because the callback may end leases.
  on_tick();
  {
    const system::MutexLock lock(watched.mutex);
    watched.ticking = false;
  }
  watched.ticked.notify_all();
  return hangs;
}

void LeaseRenewer::renew(Watched& watched) {
  const TimePoint now = options_.clock->now();
  const Elapsed elapsed = options_.clock->elapsed();
  std::vector<Lease> due;
  std::vector<std::size_t> which;
  {
    const system::MutexLock lock(watched.mutex);
    const auto hangs = [&](const Watched::Entry& entry) {
      return entry.begun && past(*entry.begun, now, options_.grace);
    };
    // A handler that hangs keeps later handlers from running. All their leases lapse, so that the
    // messages run elsewhere.
    const bool together = watched.handlers == Handlers::kTogether;
    if (!together && std::any_of(watched.entries.begin(), watched.entries.end(), hangs)) return;
    for (std::size_t i = 0; i < watched.entries.size(); ++i) {
      const auto& entry = watched.entries[i];
      if (!entry.lease || entry.lost || elapsed - entry.renewed < options_.lease / kRenewAt)
        continue;
      if (together && hangs(entry)) continue;
      due.push_back(*entry.lease);
      which.push_back(i);
    }
  }
  if (due.empty()) return;
  auto applied = options_.store->renew(due, options_.lease);
  // An unavailable store is no reason to stop the handler: the lease may well outlive the outage,
  // and finish will show that.
  if (!applied) return;
  std::vector<std::stop_source> stops;
  {
    const system::MutexLock lock(watched.mutex);
    if (watched.entries.empty()) return;  // the batch ended meanwhile
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto& entry = watched.entries[which[k]];
      if ((*applied)[k] == Applied::kYes) {
        entry.renewed = elapsed;
      } else if (entry.lease) {
        entry.lost = true;
        stops.push_back(entry.stop);
      }
    }
  }
  fire_all(stops);
}

}  // namespace semel::strategies
