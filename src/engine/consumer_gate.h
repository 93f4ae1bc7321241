// ConsumerGate: whether a consumer may begin messages, according to its handlers and to the store.
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

// open → shut (for a time) → trying (a single message) → open, or shut again; paused from any
// state, until a person resumes it. Thread-safe.
class ConsumerGate final : public Gate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Options {
    std::string consumer;
    ConsumerNumber number{};
    Gates* gates = nullptr;  // null: the state is not stored
    Clock* clock = nullptr;
    Observer* observer = nullptr;
    std::function<void()> changed;  // called without a lock held
  };
  explicit ConsumerGate(Options options) : options_(std::move(options)) {}

  void shut(std::chrono::milliseconds time, std::string_view why) noexcept override;
  void open() noexcept override;
  void pause(std::string_view why) noexcept override;

  // How many messages may begin now: none, a single one, or any number.
  enum class Admission { kNone, kOne, kAll };
  Admission admission() const SEMEL_EXCLUDES(mutex_);
  // The single message begins; returns the number of its trial.
  std::uint64_t tries() SEMEL_EXCLUDES(mutex_);
  // The trial has ended; if nothing opened or shut the gate meanwhile, the next message tries.
  void tried(std::uint64_t trial) SEMEL_EXCLUDES(mutex_);
  // When the result of admission() may change by itself.
  std::optional<TimePoint> until() const SEMEL_EXCLUDES(mutex_);
  bool paused() const SEMEL_EXCLUDES(mutex_);

  // Called by the receiving thread. Handlers only note their news, because they may hold the
  // store's own transaction. `keep` writes the news to the store; `look` does too, and about once a
  // second reads whether another process or a person paused or resumed the consumer.
  void keep() SEMEL_EXCLUDES(mutex_);
  void look() SEMEL_EXCLUDES(mutex_);

 private:
  enum class Mode { kOpen, kShut, kTrying, kPaused };
  // News that the store does not have yet.
  struct News {
    Mode mode;
    std::string why;
    std::chrono::milliseconds time{0};
  };
  void notice(const std::string& text) const;
  void change(Mode mode, News news) SEMEL_REQUIRES(mutex_);
  // False where the store failed: whether it has the news is then unknown.
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
