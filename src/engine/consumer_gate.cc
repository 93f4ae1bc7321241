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

void ConsumerGate::change(Mode mode, News news) {
  mode_ = mode;
  ++changes_;
  // A pause that is not stored yet must not be replaced by a later change.
  if (!news_ || news_->mode != Mode::kPaused) news_ = std::move(news);
}

void ConsumerGate::shut(milliseconds time, std::string_view why) noexcept {
  const TimePoint until = options_.clock->now() + std::max(time, milliseconds{0});
  {
    const system::MutexLock lock(mutex_);
    if (mode_ == Mode::kPaused || (mode_ == Mode::kShut && until <= until_)) return;
    until_ = until;
    change(Mode::kShut, {Mode::kShut, std::string(why), time});
  }
  notice(fmt::format("nothing is begun for {} ms: {}", time.count(), why));
  options_.changed();
}

void ConsumerGate::open() noexcept {
  {
    const system::MutexLock lock(mutex_);
    if (mode_ != Mode::kTrying) return;
    change(Mode::kOpen, {Mode::kOpen, {}, {}});
  }
  notice("the other end answers again");
  options_.changed();
}

void ConsumerGate::pause(std::string_view why) noexcept {
  {
    const system::MutexLock lock(mutex_);
    if (mode_ == Mode::kPaused) return;
    change(Mode::kPaused, {Mode::kPaused, std::string(why), {}});
  }
  notice(fmt::format("paused until it is resumed (semel consumers resume {}): {}",
                     options_.consumer, why));
  options_.changed();
}

ConsumerGate::Admission ConsumerGate::admission() const {
  const system::MutexLock lock(mutex_);
  switch (mode_) {
    case Mode::kOpen:
      return Admission::kAll;
    case Mode::kShut:
      return options_.clock->now() < until_ ? Admission::kNone : Admission::kOne;
    default:
      return Admission::kNone;
  }
}

std::uint64_t ConsumerGate::tries() {
  const system::MutexLock lock(mutex_);
  if (mode_ == Mode::kShut) mode_ = Mode::kTrying;
  return ++trials_;
}

void ConsumerGate::tried(std::uint64_t trial) {
  const system::MutexLock lock(mutex_);
  if (mode_ == Mode::kTrying && trial == trials_) mode_ = Mode::kShut;
}

std::optional<ConsumerGate::TimePoint> ConsumerGate::until() const {
  const system::MutexLock lock(mutex_);
  if (mode_ == Mode::kShut) return until_;
  // Another process may resume the consumer, and only the store shows that: ask it again.
  if (mode_ == Mode::kPaused && looked_) return *looked_ + kLookEvery;
  return std::nullopt;
}

bool ConsumerGate::paused() const {
  const system::MutexLock lock(mutex_);
  return mode_ == Mode::kPaused;
}

bool ConsumerGate::write(const News& news) const {
  switch (news.mode) {
    case Mode::kShut:
      return options_.gates->shut(options_.number, news.why, news.time).has_value();
    case Mode::kPaused:
      return options_.gates->shut(options_.number, news.why, std::nullopt).has_value();
    default:
      return options_.gates->open(options_.number).has_value();
  }
}

void ConsumerGate::keep() {
  if (options_.gates == nullptr) return;
  std::optional<News> news;
  {
    const system::MutexLock lock(mutex_);
    news.swap(news_);
  }
  if (!news || write(*news) || news->mode != Mode::kPaused) return;
  // Losing a break is harmless, since only other processes miss it. A pause must not be lost.
  const system::MutexLock lock(mutex_);
  news_ = std::move(news);
}

void ConsumerGate::look() {
  if (options_.gates == nullptr) return;
  keep();
  const TimePoint now = options_.clock->now();
  std::uint64_t changes = 0;
  {
    const system::MutexLock lock(mutex_);
    if (looked_ && now - *looked_ < kLookEvery) return;
    changes = changes_;
  }
  const auto state = options_.gates->state(options_.number);
  bool resumed = false;
  bool paused = false;
  {
    const system::MutexLock lock(mutex_);
    looked_ = now;
    // Ignore a failed read, and a read that a local change has overtaken.
    if (!state || changes != changes_ || news_) return;
    const bool pause = *state && !(*state)->until;
    paused = pause && mode_ != Mode::kPaused;
    resumed = !pause && mode_ == Mode::kPaused;
    if (paused) mode_ = Mode::kPaused;
    if (resumed) mode_ = Mode::kOpen;
  }
  if (paused) notice(fmt::format("paused: {}", (*state)->why));
  if (resumed) notice("resumed");
  if (paused || resumed) options_.changed();
}

}  // namespace semel::engine
