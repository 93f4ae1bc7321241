#include "strategies/row_pace.h"

#include <algorithm>

namespace semel::strategies {

namespace {

using std::chrono::nanoseconds;

// One transaction may raise a version several times, so a shorter measurement says little.
constexpr nanoseconds kWindow = std::chrono::milliseconds(100);
// A row without messages is not slow.
constexpr nanoseconds kLongestWindow = std::chrono::seconds(2);
constexpr nanoseconds kLongest = std::chrono::hours(1);
// A row rests if it did not rise for this long, and for this many of its steps.
constexpr nanoseconds kRest = std::chrono::seconds(3);
constexpr int kStepsOfRest = 4;

// As floating-point numbers: the difference of two versions may overflow.
double between(std::int64_t older, std::int64_t newer) {
  return static_cast<double>(newer) - static_cast<double>(older);
}

double as_number(nanoseconds time) { return static_cast<double>(time.count()); }

}  // namespace

void RowPace::saw(std::int64_t version, TimePoint now) {
  looked_ = now;
  note({version, now}, false);
}

void RowPace::passed(std::int64_t version, TimePoint now) {
  looked_ = now;
  note({version, now}, true);
}

void RowPace::note(const Seen& seen, bool passed) {
  if (!newest_) {
    from_ = newest_ = seen;
    passed_ = passed;
    return;
  }
  if (seen.version < newest_->version) return;
  if (seen.version == newest_->version) {
    if (passed && !passed_) newest_->at = seen.at;
    passed_ = passed_ || passed;
    return;
  }
  const double step = between(newest_->version, seen.version);
  step_ = step_ == 0 ? step : std::min(step_, step);
  newest_ = seen;
  passed_ = passed;
  measure(seen);
}

void RowPace::measure(const Seen& seen) {
  const nanoseconds took = std::min<nanoseconds>(seen.at - from_->at, kLongestWindow);
  if (took < kWindow && per_version_ != 0) return;
  const double measured = as_number(took) / between(from_->version, seen.version);
  per_version_ = per_version_ == 0 ? measured : (per_version_ + measured) / 2;
  if (took >= kWindow) from_ = seen;
}

// How many versions are left.
double RowPace::left_to(std::int64_t version) const {
  const double left = between(newest_->version, version) - (passed_ ? step_ : 0);
  return std::max(left, 0.0);
}

std::optional<nanoseconds> RowPace::time_to(std::int64_t version, TimePoint now) const {
  if (per_version_ == 0) return std::nullopt;
  const double left = left_to(version) * per_version_ - as_number(now - newest_->at);
  return nanoseconds(static_cast<std::int64_t>(std::clamp(left, 0.0, as_number(kLongest))));
}

nanoseconds RowPace::step_time() const {
  return nanoseconds(
      static_cast<std::int64_t>(std::min(step_ * per_version_, as_number(kLongest))));
}

bool RowPace::is_behind(std::int64_t version) const {
  return newest_ && left_to(version) > 0 && left_to(version) >= step_ && !(passed_ && step_ == 0);
}

bool RowPace::rests(TimePoint now) const {
  return !newest_ || now - newest_->at > kRest + kStepsOfRest * step_time();
}

}  // namespace semel::strategies
