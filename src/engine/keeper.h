// Keeper: one thread that watches over running handlers.
//
// It renews each lease well before its end, fires stop tokens at the timeout, at lease loss and at
// a hurried drain, and calls `hung` when a transactional handler passes timeout and grace: such a
// handler may hold the only write lock, which only the end of the process frees
// (docs/contract.md, rule 6).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/store.h>

#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::engine {

struct KeeperOptions {
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds timeout{0};  // of one handler call; zero: none
  std::chrono::milliseconds grace{0};
  Store* store = nullptr;
  Environment* environment = nullptr;
  std::function<void(const std::string&)> hung;
  // True once the drain has begun: messages whose handlers have not begun are given back
  // (docs/contract.md, rule 19).
  std::function<bool()> draining;
  // Called about every tick while anything is watched.
  std::function<void()> tick;
};

class ThreadKeeper final : public strategies::Keeper {
 public:
  explicit ThreadKeeper(KeeperOptions options);
  ~ThreadKeeper() override;

  std::unique_ptr<Watch> watch(std::span<const Lease> leases, Handlers handlers,
                               std::size_t calls = 1) override;

  // Fires every stop token, those of handlers yet to begin too.
  void stop_all() noexcept SEMEL_EXCLUDES(mutex_);

 private:
  class BatchWatch;
  using TimePoint = std::chrono::steady_clock::time_point;

  void loop() SEMEL_EXCLUDES(mutex_);
  void look_after(BatchWatch& watch, TimePoint now);
  void renew(BatchWatch& watch, TimePoint now);
  void remove(BatchWatch* watch) noexcept SEMEL_EXCLUDES(mutex_);
  bool past(TimePoint begun, TimePoint now, std::chrono::milliseconds more) const noexcept;

  KeeperOptions options_;
  std::chrono::milliseconds tick_;
  system::Mutex mutex_;
  system::CondVar wake_;
  system::CondVar looked_;
  std::vector<BatchWatch*> watches_ SEMEL_GUARDED_BY(mutex_);
  // its destructor waits: the thread is inside it
  BatchWatch* looking_at_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  bool idle_ SEMEL_GUARDED_BY(mutex_) = false;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  bool stopping_all_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::engine
