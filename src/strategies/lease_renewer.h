// LeaseRenewer: one thread that watches running handlers, for the engine and for a Guard.
//
// It renews each lease well before its end, fires stop tokens at the timeout, at lease loss and at
// a hurried drain, and calls `hung` when a transactional handler passes timeout and grace: such a
// handler may hold the only write lock, which only the end of the process frees (docs/contract.md,
// rule 6).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/store.h>

#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::strategies {

struct LeaseRenewerOptions {
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds timeout{0};  // of one handler call; zero: none
  std::chrono::milliseconds grace{0};
  // The longest pause between two looks at the handlers; Watch::on_tick waits for the next look.
  std::chrono::milliseconds longest_pause{50};
  Store* store = nullptr;
  Clock* clock = nullptr;
  // Empty: no handler runs in a transaction.
  std::function<void(const std::string&)> hung{};
  // True once the drain has begun: messages whose handlers have not begun are given back
  // (docs/contract.md, rule 19). Empty: there is no drain.
  std::function<bool()> draining{};
  // Called after each look while anything is watched, with the number of watches in which a handler
  // is past its timeout and grace.
  std::function<void(std::size_t hanging)> tick{};
};

// While nothing is watched its thread sleeps; a batch that ends before the first look costs only a
// lock, or one wake-up after such a sleep.
class LeaseRenewer final : public HandlerMonitor {
 public:
  explicit LeaseRenewer(LeaseRenewerOptions options);
  ~LeaseRenewer() override;

  // The end of a watch waits for its running on_tick action, and not for a store that renews its
  // leases.
  std::unique_ptr<Watch> watch(std::span<const Lease> leases, Handlers handlers,
                               std::size_t calls = 1,
                               std::span<const std::chrono::nanoseconds> asked = {}) override;

  // Fires every stop token, including those of handlers that begin later.
  void stop_all() noexcept SEMEL_EXCLUDES(mutex_);

 private:
  struct Watched;
  class BatchWatch;
  using TimePoint = std::chrono::steady_clock::time_point;
  using Elapsed = std::chrono::nanoseconds;  // by Clock::elapsed

  void loop() SEMEL_EXCLUDES(mutex_);
  // True where a handler is past its timeout and grace.
  bool look_after(Watched& watched, TimePoint now);
  void renew(Watched& watched);
  void forget(const Watched* watched) noexcept SEMEL_EXCLUDES(mutex_);
  bool past(TimePoint begun, TimePoint now, std::chrono::milliseconds more) const noexcept;

  const LeaseRenewerOptions options_;
  const std::chrono::milliseconds pause_;
  system::Mutex mutex_;
  system::CondVar wake_;
  std::vector<std::shared_ptr<Watched>> watched_ SEMEL_GUARDED_BY(mutex_);
  bool asleep_ SEMEL_GUARDED_BY(mutex_) = false;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  bool stopping_all_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::strategies
