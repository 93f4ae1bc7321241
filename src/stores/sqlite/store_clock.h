// StoreClock: the one place the store reads the time from.
#pragma once

#include <atomic>
#include <chrono>

#include <semel/environment.h>
#include <semel/records.h>

namespace semel::sqlite {

// Safe for several threads.
class StoreClock {
 public:
  virtual ~StoreClock() = default;
  // What expires is decided by this: the machine's clock, the same for all processes on the file.
  virtual StoreTime now() noexcept = 0;
  // Grows steadily: tells a jump of `now` from the passing of time.
  virtual std::chrono::steady_clock::time_point steady() noexcept = 0;
};

class SystemStoreClock final : public StoreClock {
 public:
  explicit SystemStoreClock(Environment& environment) noexcept : clock_(*environment.clock) {}
  StoreTime now() noexcept override {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
  }
  std::chrono::steady_clock::time_point steady() noexcept override { return clock_.now(); }

 private:
  Clock& clock_;
};

// For tests: the machine's clock, moved. One object may serve several stores on one file.
class MovedStoreClock final : public StoreClock {
 public:
  // Time passes.
  void advance(std::chrono::milliseconds by) noexcept {
    moved_ += by.count();
    passed_ += by.count();
  }
  // The clock jumps and no time passes.
  void jump(std::chrono::milliseconds by) noexcept { moved_ += by.count(); }

  StoreTime now() noexcept override {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now()) +
           std::chrono::milliseconds(moved_.load());
  }
  std::chrono::steady_clock::time_point steady() noexcept override {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(passed_.load());
  }

 private:
  std::atomic<std::int64_t> moved_{0};
  std::atomic<std::int64_t> passed_{0};
};

}  // namespace semel::sqlite
