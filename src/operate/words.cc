#include "operate/words.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/printable.h"

namespace semel::operate {

namespace {

constexpr std::size_t kNearEnough = 2;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string printable(BytesView bytes, std::size_t longest) {
  return longest == 0 ? printable_text(bytes) : printable_start(bytes, longest);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  std::int64_t factor = 0;
  if (unit == "ms") factor = 1;
  if (unit == "s") factor = 1'000;
  if (unit == "m") factor = 60'000;
  if (unit == "h") factor = 3'600'000;
  if (unit == "d") factor = 86'400'000;
  constexpr std::int64_t kLongest = std::int64_t{1} << 52;
  if (factor == 0 || number > kLongest / factor) return std::nullopt;
  return std::chrono::milliseconds(number * factor);
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = kNearEnough + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace semel::operate
