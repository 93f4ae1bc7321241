// Periodic: calls a function at a fixed interval, on a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "system/mutex.h"

namespace semel::system {

class Periodic {
 public:
  // First after one interval. The function must not throw.
  Periodic(std::chrono::milliseconds interval, std::function<void()> call)
      : interval_(interval), call_(std::move(call)), thread_([this] { loop(); }) {}
  // Waits for a running call.
  ~Periodic() {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  void loop() SEMEL_EXCLUDES(mutex_) {
    RelockableLock lock(mutex_);
    while (
        !wake_.wait_for(mutex_, interval_, [this]() SEMEL_REQUIRES(mutex_) { return ending_; })) {
      lock.unlock();
      call_();
      lock.lock();
    }
  }

  const std::chrono::milliseconds interval_;
  const std::function<void()> call_;
  Mutex mutex_;
  CondVar wake_;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::system
