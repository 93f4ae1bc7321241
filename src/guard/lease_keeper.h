// LeaseKeeper: renews the leases of a Guard's calls while their work runs.
//
// One thread for all calls, begun with the first one that needs a lease; asleep while none runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/store.h>

#include "strategies/strategies.h"

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

  void loop();
  void renew(Watched& watched, std::chrono::steady_clock::time_point now);
  void forget(const Watched* watched) noexcept;

  Store& store_;
  Clock& clock_;
  const std::chrono::milliseconds lease_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Watched>> watched_;
  bool asleep_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace semel::guard
