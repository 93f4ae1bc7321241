#include "tests/support/recording_observer.h"

#include <algorithm>

namespace semel::test {

void RecordingObserver::happened() {
  ++events_;
  changed_.notify_all();
}

void RecordingObserver::on_received(std::string_view, std::size_t deliveries) noexcept {
  const std::scoped_lock lock(mutex_);
  received_ += deliveries;
  happened();
}

void RecordingObserver::on_ended(std::string_view consumer, const Delivery& delivery,
                                 const Outcome& outcome, std::chrono::nanoseconds took) noexcept {
  const std::scoped_lock lock(mutex_);
  ended_.push_back({std::string(consumer), delivery.message.key().text, delivery.arrival.position,
                    outcome, took});
  happened();
}

void RecordingObserver::on_refused(std::string_view consumer, const Arrival& arrival,
                                   std::string_view reason, std::string_view error) noexcept {
  const std::scoped_lock lock(mutex_);
  refused_.push_back(
      {std::string(consumer), arrival.position, std::string(reason), std::string(error)});
  happened();
}

void RecordingObserver::on_held(std::string_view, const Delivery& delivery) noexcept {
  const std::scoped_lock lock(mutex_);
  held_.push_back(delivery.message.key().text);
  happened();
}

void RecordingObserver::on_lease_lost(std::string_view, const Delivery& delivery) noexcept {
  const std::scoped_lock lock(mutex_);
  leases_lost_.push_back(delivery.message.key().text);
  happened();
}

void RecordingObserver::on_trouble(std::string_view, std::string_view where, const Error& error,
                                   bool mended) noexcept {
  const std::scoped_lock lock(mutex_);
  troubles_.push_back({std::string(where), error, mended});
  happened();
}

void RecordingObserver::on_notice(std::string_view, std::string_view text) noexcept {
  const std::scoped_lock lock(mutex_);
  notices_.emplace_back(text);
  happened();
}

std::size_t RecordingObserver::received() const {
  const std::scoped_lock lock(mutex_);
  return received_;
}

std::vector<RecordingObserver::Ended> RecordingObserver::ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

std::size_t RecordingObserver::count(Outcome::Kind kind) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      ended_, [&](const Ended& ended) { return ended.outcome.kind == kind; }));
}

std::size_t RecordingObserver::count(Outcome::Kind kind, BytesView key) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      ended_, [&](const Ended& ended) { return ended.outcome.kind == kind && ended.key == key; }));
}

std::vector<RecordingObserver::Refused> RecordingObserver::refused() const {
  const std::scoped_lock lock(mutex_);
  return refused_;
}

std::vector<Bytes> RecordingObserver::held() const {
  const std::scoped_lock lock(mutex_);
  return held_;
}

std::vector<Bytes> RecordingObserver::leases_lost() const {
  const std::scoped_lock lock(mutex_);
  return leases_lost_;
}

std::vector<RecordingObserver::Trouble> RecordingObserver::troubles() const {
  const std::scoped_lock lock(mutex_);
  return troubles_;
}

std::vector<std::string> RecordingObserver::notices() const {
  const std::scoped_lock lock(mutex_);
  return notices_;
}

bool RecordingObserver::noticed(std::string_view part) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(
      notices_, [&](const std::string& notice) { return notice.find(part) != std::string::npos; });
}

bool RecordingObserver::wait(const std::function<bool()>& condition,
                             std::chrono::milliseconds patience) const {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::size_t seen = 0;
    {
      const std::scoped_lock lock(mutex_);
      seen = events_;
    }
    if (condition()) return true;
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, end, [&] { return events_ != seen; })) return false;
  }
}

}  // namespace semel::test
