#include "guard/lease_keeper.h"

#include <algorithm>
#include <stop_token>
#include <utility>

namespace semel::guard {

namespace {

using std::chrono::milliseconds;

// A lease is renewed after this part of its length; looking more often finds it in time.
constexpr int kRenewAt = 3;
constexpr int kLooksPerLease = 6;
constexpr milliseconds kShortestTick{1};

}  // namespace

// Shared by the call and the thread: a call may end while its lease is being renewed.
struct LeaseKeeper::Watched {
  Watched(std::span<const Lease> held, std::chrono::steady_clock::time_point now)
      : leases(held.begin(), held.end()), renewed(now) {}

  system::Mutex mutex;
  std::vector<Lease> leases SEMEL_GUARDED_BY(mutex);
  std::chrono::steady_clock::time_point renewed SEMEL_GUARDED_BY(mutex);
  std::stop_source stop;
};

class LeaseKeeper::LeaseWatch final : public Watch {
 public:
  LeaseWatch(LeaseKeeper& keeper, std::shared_ptr<Watched> watched)
      : keeper_(keeper), watched_(std::move(watched)) {}
  ~LeaseWatch() override { keeper_.forget(watched_.get()); }

  std::stop_token handler_begins(std::size_t) override { return watched_->stop.get_token(); }
  void handler_ended(std::size_t) override {}
  void finished(std::size_t) override {
    const system::MutexLock lock(watched_->mutex);
    watched_->leases.clear();
  }
  // One call has one ending: nobody waits behind it.
  void on_tick(std::function<void()>) override {}

 private:
  LeaseKeeper& keeper_;
  const std::shared_ptr<Watched> watched_;
};

LeaseKeeper::LeaseKeeper(Store& store, Clock& clock, milliseconds lease)
    : store_(store), clock_(clock), lease_(lease) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<strategies::Keeper::Watch> LeaseKeeper::watch(std::span<const Lease> leases,
                                                              Handlers /*handlers*/,
                                                              std::size_t /*calls*/) {
  auto watched = std::make_shared<Watched>(leases, clock_.now());
  auto watch = std::make_unique<LeaseWatch>(*this, watched);
  bool asleep = false;
  {
    const system::MutexLock lock(mutex_);
    watched_.push_back(std::move(watched));
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    asleep = std::exchange(asleep_, false);
  }
  if (asleep) wake_.notify_one();
  return watch;
}

void LeaseKeeper::forget(const Watched* watched) noexcept {
  const system::MutexLock lock(mutex_);
  std::erase_if(watched_, [watched](const auto& one) { return one.get() == watched; });
}

void LeaseKeeper::loop() {
  const milliseconds tick = std::max(lease_ / kLooksPerLease, kShortestTick);
  system::RelockableLock lock(mutex_);
  while (!ending_) {
    // Calls that end within a tick never wake this thread.
    if (watched_.empty()) {
      asleep_ = true;
      wake_.wait(mutex_, [&]() SEMEL_REQUIRES(mutex_) { return ending_ || !asleep_; });
      asleep_ = false;
    }
    wake_.wait_for(mutex_, tick, [&]() SEMEL_REQUIRES(mutex_) { return ending_; });
    if (ending_) return;
    const auto now_watched = watched_;
    lock.unlock();
    const auto now = clock_.now();
    for (const auto& one : now_watched) renew(*one, now);
    lock.lock();
  }
}

void LeaseKeeper::renew(Watched& watched, std::chrono::steady_clock::time_point now) {
  std::vector<Lease> leases;
  {
    const system::MutexLock lock(watched.mutex);
    if (watched.leases.empty() || now - watched.renewed < lease_ / kRenewAt) return;
    leases = watched.leases;
  }
  const auto applied = store_.renew(leases, lease_);
  // A store that is away is no reason to stop the work: the lease may outlive the trouble.
  if (!applied) return;
  const system::MutexLock lock(watched.mutex);
  // It was finished meanwhile.
  if (watched.leases.empty()) return;
  watched.renewed = now;
  if (std::find(applied->begin(), applied->end(), Applied::kLeaseLost) == applied->end()) return;
  watched.leases.clear();
  watched.stop.request_stop();
}

}  // namespace semel::guard
