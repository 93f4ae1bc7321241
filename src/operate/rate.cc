#include "operate/rate.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace semel::operate {

namespace {

constexpr std::size_t kAtOnce = 500;
// A throttled job moves on this often, so that the rate is kept within short spans too.
constexpr std::chrono::milliseconds kThrottleStep{100};

struct RateUnit {
  char letter;
  std::chrono::milliseconds time;
};
constexpr RateUnit kRateUnits[] = {
    {'s', std::chrono::seconds(1)}, {'m', std::chrono::minutes(1)}, {'h', std::chrono::hours(1)}};

}  // namespace

std::optional<Rate> parse_rate(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Rate rate;
  const auto read = std::from_chars(text.data(), text.data() + slash, rate.count);
  if (read.ec != std::errc{} || read.ptr != text.data() + slash || rate.count == 0) {
    return std::nullopt;
  }
  const std::string_view unit = text.substr(slash + 1);
  for (const RateUnit& one : kRateUnits) {
    if (unit.size() == 1 && unit[0] == one.letter) rate.time = one.time;
  }
  if (rate.time.count() == 0) return std::nullopt;
  return rate;
}

std::string rate_text(const Rate& rate) {
  const auto found = std::ranges::find(kRateUnits, rate.time, &RateUnit::time);
  return fmt::format("{}/{}", rate.count, found == std::end(kRateUnits) ? '?' : found->letter);
}

std::size_t Throttle::most() const noexcept {
  if (!rate_) return kAtOnce;
  const auto per_step = static_cast<std::size_t>(
      static_cast<double>(rate_->count) *
      (static_cast<double>(kThrottleStep.count()) / static_cast<double>(rate_->time.count())));
  return std::clamp<std::size_t>(per_step, 1, kAtOnce);
}

void Throttle::took(std::size_t count, Time begun) {
  if (!rate_) return;
  due_ = begun + std::chrono::duration_cast<Time::duration>(
                     std::chrono::duration<double, std::milli>(rate_->time) *
                     (static_cast<double>(count) / static_cast<double>(rate_->count)));
}

}  // namespace semel::operate
