// ConsumerGate: whether a consumer may begin messages, by what its handlers say of the other end
// and by what is kept in the store.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include <semel/environment.h>
#include <semel/gate.h>
#include <semel/gates.h>
#include <semel/observer.h>

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
  Room room() const;
  // The one has begun.
  void tries();
  // The one has ended; where nobody opened or shut the gate meanwhile, the next one tries.
  void tried();
  // When room may change by itself.
  std::optional<TimePoint> until() const;
  // What the store says: another process, or a person, paused or resumed the consumer. Asks about
  // once a second at most. For the receiving thread.
  void look();
  bool paused() const;

 private:
  enum class Mode { kOpen, kShut, kTrying, kPaused };
  void notice(const std::string& text) const;
  void keep_pause() noexcept;

  const Options options_;
  mutable std::mutex mutex_;
  Mode mode_ = Mode::kOpen;
  TimePoint until_{};
  std::optional<TimePoint> looked_;
  std::string why_;    // kPaused
  bool kept_ = false;  // kPaused: the store has it
};

}  // namespace semel::engine
