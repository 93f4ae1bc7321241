// The age of the oldest message that a source has received and not settled, as a figure. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include <semel/spi/source.h>

namespace semel::core {

inline constexpr std::string_view kOldestFigure = "oldest_seconds";

// `sent`: by its broker's timestamp; none: there is no such message, or nobody knows its time.
inline void add_oldest(std::vector<SourceFigure>& figures,
                       std::optional<std::chrono::system_clock::time_point> sent,
                       std::chrono::system_clock::time_point now) {
  if (!sent) return;
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - *sent).count();
  figures.push_back({std::string(kOldestFigure), {}, std::max<std::int64_t>(age, 0), {}});
}

// The earlier one of two, of which any may be unknown.
inline std::optional<std::chrono::system_clock::time_point> earlier(
    std::optional<std::chrono::system_clock::time_point> one,
    std::optional<std::chrono::system_clock::time_point> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

// The earliest broker's time of the open deliveries of a ledger that keeps their arrivals; a null
// arrival is out of its hands.
template <class Deliveries>
std::optional<std::chrono::system_clock::time_point> earliest_sent(const Deliveries& deliveries) {
  std::optional<std::chrono::system_clock::time_point> sent;
  deliveries.each_open([&](const auto& arrival) {
    if (arrival != nullptr) sent = earlier(sent, arrival->broker_time);
    return true;
  });
  return sent;
}

}  // namespace semel::core
