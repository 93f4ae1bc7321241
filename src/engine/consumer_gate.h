// ConsumerGate: whether a consumer may begin messages, by what its handlers say of the other end
// and by what is kept in the store.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <semel/admin/gates.h>
#include <semel/environment.h>
#include <semel/gate.h>
#include <semel/observer.h>

#include "system/mutex.h"

namespace semel::engine {

// open → shut (for a time) → trying (one message alone) → open, or shut again; paused from any,
// until a person resumes it. Safe for several threads.
class ConsumerGate final : public Gate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Options {
    std::string consumer;
    ConsumerNumber number{};
    Gates* gates = nullptr;  // null: nothing is kept
    Clock* clock = nullptr;
    Observer* observer = nullptr;
    std::function<void()> changed;  // called with nothing locked
  };
  explicit ConsumerGate(Options options) : options_(std::move(options)) {}

  void shut(std::chrono::milliseconds time, std::string_view why) noexcept override;
  void open() noexcept override;
  void pause(std::string_view why) noexcept override;

  // How many messages may begin now: none, one alone, or as many as there are.
  enum class Room { kNone, kOne, kAll };
  Room room() const SEMEL_EXCLUDES(mutex_);
  // The one begins; the number of its trial.
  std::uint64_t tries() SEMEL_EXCLUDES(mutex_);
  // It has ended; where nobody opened or shut the gate meanwhile, the next one tries.
  void tried(std::uint64_t trial) SEMEL_EXCLUDES(mutex_);
  // When room may change by itself.
  std::optional<TimePoint> until() const SEMEL_EXCLUDES(mutex_);
  bool paused() const SEMEL_EXCLUDES(mutex_);

  // For the receiving thread: handlers only note what they say, for they may hold the store's own
  // transaction. `keep` writes it to the store; `look` does too, and then sees, about once a
  // second, whether another process or a person paused or resumed the consumer.
  void keep() SEMEL_EXCLUDES(mutex_);
  void look() SEMEL_EXCLUDES(mutex_);

 private:
  enum class Mode { kOpen, kShut, kTrying, kPaused };
  // To be told to the store.
  struct News {
    Mode mode;
    std::string why;
    std::chrono::milliseconds time{0};
  };
  void notice(const std::string& text) const;
  void change(Mode mode, News news) SEMEL_REQUIRES(mutex_);
  // False where the store failed: whether it has the news is not known then.
  bool write(const News& news) const;

  const Options options_;
  mutable system::Mutex mutex_;
  Mode mode_ SEMEL_GUARDED_BY(mutex_) = Mode::kOpen;
  TimePoint until_ SEMEL_GUARDED_BY(mutex_){};
  std::optional<TimePoint> looked_ SEMEL_GUARDED_BY(mutex_);
  std::optional<News> news_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t changes_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::uint64_t trials_ SEMEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace semel::engine
