// StoreClock: the only source of the store's time.
#pragma once

#include <atomic>
#include <chrono>

#include <semel/admin/records.h>
#include <semel/environment.h>

namespace semel::sqlite {

// Thread-safe.
class StoreClock {
 public:
  virtual ~StoreClock() = default;
  // Decides what expires: the machine's clock, the same for all processes on the file.
  virtual StoreTime now() noexcept = 0;
  // As Clock::elapsed: distinguishes a jump of `now` from the passing of time.
  virtual std::chrono::nanoseconds elapsed() noexcept = 0;
};

class SystemStoreClock final : public StoreClock {
 public:
  explicit SystemStoreClock(Environment& environment) noexcept : clock_(*environment.clock) {}
  StoreTime now() noexcept override {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
  }
  std::chrono::nanoseconds elapsed() noexcept override { return clock_.elapsed(); }

 private:
  Clock& clock_;
};

// For tests: begins at the machine's time and is moved. By itself it passes slowly: on a busy
// machine a test takes longer than the times it tests. One object may serve several stores on one
// file.
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
    return begun_ + by_itself() + std::chrono::milliseconds(moved_.load());
  }
  std::chrono::nanoseconds elapsed() noexcept override {
    return begun_steady_.time_since_epoch() + by_itself() +
           std::chrono::milliseconds(passed_.load());
  }

 private:
  std::chrono::milliseconds by_itself() const noexcept {
    constexpr int kSlower = 10;
    return std::chrono::floor<std::chrono::milliseconds>(
        (std::chrono::steady_clock::now() - begun_steady_) / kSlower);
  }

  const StoreTime begun_ =
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::chrono::steady_clock::time_point begun_steady_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> moved_{0};
  std::atomic<std::int64_t> passed_{0};
};

}  // namespace semel::sqlite
