// LeaseKeeper: renews the leases of a Guard's calls while their work runs.
//
// One thread for all calls, begun with the first one that needs a lease; asleep while none runs.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/store.h>

#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::guard {

class LeaseKeeper final : public strategies::Keeper {
 public:
  LeaseKeeper(Store& store, Clock& clock, std::chrono::milliseconds lease);
  ~LeaseKeeper() override;

  std::unique_ptr<Watch> watch(std::span<const Lease> leases, Handlers handlers,
                               std::size_t calls = 1) override;

 private:
  struct Watched;
  class LeaseWatch;

  void loop() SEMEL_EXCLUDES(mutex_);
  void renew(Watched& watched, std::chrono::steady_clock::time_point now);
  void forget(const Watched* watched) noexcept SEMEL_EXCLUDES(mutex_);

  Store& store_;
  Clock& clock_;
  const std::chrono::milliseconds lease_;
  system::Mutex mutex_;
  system::CondVar wake_;
  std::vector<std::shared_ptr<Watched>> watched_ SEMEL_GUARDED_BY(mutex_);
  bool asleep_ SEMEL_GUARDED_BY(mutex_) = false;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::guard
