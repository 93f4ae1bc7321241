// OneThread: runs the given functions in order on a separate thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace semel::test {

class OneThread {
 public:
  OneThread() : thread_([this] { loop(); }) {}
  ~OneThread() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

  void run(std::function<void()> work) {
    {
      const std::scoped_lock lock(mutex_);
      work_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  // Until nothing is left and nothing runs.
  void wait_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty() && !running_; });
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !work_.empty(); });
      if (work_.empty()) return;
      auto work = std::move(work_.front());
      work_.pop_front();
      running_ = true;
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
      running_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool running_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace semel::test
