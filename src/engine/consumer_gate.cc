#include "engine/consumer_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::engine {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookEvery{1'000};

}  // namespace

void ConsumerGate::notice(const std::string& text) const {
  if (options_.observer != nullptr) options_.observer->on_notice(options_.consumer, text);
}

void ConsumerGate::shut(milliseconds time, std::string_view why) noexcept {
  const TimePoint until = options_.clock->now() + std::max(time, milliseconds{0});
  {
    const std::scoped_lock lock(mutex_);
    if (mode_ == Mode::kPaused || (mode_ == Mode::kShut && until <= until_)) return;
    mode_ = Mode::kShut;
    until_ = until;
  }
  notice(fmt::format("nothing is begun for {} ms: {}", time.count(), why));
  // For others to see. What fails here changes nothing for this process.
  if (options_.gates != nullptr) (void)options_.gates->shut(options_.number, why, time);
  options_.changed();
}

void ConsumerGate::open() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (mode_ != Mode::kTrying) return;
    mode_ = Mode::kOpen;
  }
  notice("the other end answers again");
  if (options_.gates != nullptr) (void)options_.gates->open(options_.number);
  options_.changed();
}

void ConsumerGate::pause(std::string_view why) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (mode_ == Mode::kPaused) return;
    mode_ = Mode::kPaused;
    why_ = why;
    kept_ = false;
  }
  notice(fmt::format("paused until it is resumed (semel consumers resume {}): {}",
                     options_.consumer, why));
  keep_pause();
  options_.changed();
}

void ConsumerGate::keep_pause() noexcept {
  if (options_.gates == nullptr) return;
  std::string why;
  {
    const std::scoped_lock lock(mutex_);
    why = why_;
  }
  if (!options_.gates->shut(options_.number, why, std::nullopt)) return;
  const std::scoped_lock lock(mutex_);
  kept_ = true;
}

bool ConsumerGate::paused() const {
  const std::scoped_lock lock(mutex_);
  return mode_ == Mode::kPaused;
}

ConsumerGate::Room ConsumerGate::room() const {
  const std::scoped_lock lock(mutex_);
  switch (mode_) {
    case Mode::kOpen:
      return Room::kAll;
    case Mode::kShut:
      return options_.clock->now() < until_ ? Room::kNone : Room::kOne;
    default:
      return Room::kNone;
  }
}

void ConsumerGate::tries() {
  const std::scoped_lock lock(mutex_);
  if (mode_ == Mode::kShut) mode_ = Mode::kTrying;
}

void ConsumerGate::tried() {
  const std::scoped_lock lock(mutex_);
  if (mode_ == Mode::kTrying) mode_ = Mode::kShut;
}

std::optional<ConsumerGate::TimePoint> ConsumerGate::until() const {
  const std::scoped_lock lock(mutex_);
  if (mode_ == Mode::kShut) return until_;
  // Somebody else resumes it: only the store tells.
  if (mode_ == Mode::kPaused && looked_) return *looked_ + kLookEvery;
  return std::nullopt;
}

void ConsumerGate::look() {
  if (options_.gates == nullptr) return;
  const TimePoint now = options_.clock->now();
  if (looked_ && now - *looked_ < kLookEvery) return;
  const auto state = options_.gates->state(options_.number);
  bool resumed = false;
  bool paused = false;
  bool not_kept = false;
  {
    const std::scoped_lock lock(mutex_);
    looked_ = now;
    // A store that cannot say changes nothing.
    if (!state) return;
    const bool pause = *state && !(*state)->until;
    paused = pause && mode_ != Mode::kPaused;
    resumed = !pause && mode_ == Mode::kPaused && kept_;
    not_kept = !pause && mode_ == Mode::kPaused && !kept_;
    if (pause) kept_ = true;
    if (paused) mode_ = Mode::kPaused;
    if (resumed) mode_ = Mode::kOpen;
  }
  if (not_kept) keep_pause();
  if (paused) notice(fmt::format("paused: {}", (*state)->why));
  if (resumed) notice("resumed");
  if (paused || resumed) options_.changed();
}

}  // namespace semel::engine
