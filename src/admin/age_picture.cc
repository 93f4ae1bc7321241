#include "admin/age_picture.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/number_text.h"

namespace semel::admin {

namespace {

using std::chrono::milliseconds;

constexpr int kBarWidth = 400;
constexpr int kBarHeight = 12;

// "1 d" rather than "24 h": bounds and most ttls are whole units.
std::string whole_duration(milliseconds time) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {86'400'000, "d"}, {3'600'000, "h"}, {60'000, "min"}, {1'000, "s"}};
  for (const auto& [unit, word] : kUnits) {
    if (time.count() > 0 && time.count() % unit == 0) {
      return fmt::format("{} {}", time.count() / unit, word);
    }
  }
  return rough_duration(time);
}

std::uint64_t sum_of_ages(const telemetry::HistogramValue& ages) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : ages.buckets) sum += count;
  return sum;
}

milliseconds bound_of(const telemetry::HistogramValue& ages, std::size_t bucket) {
  return milliseconds(
      static_cast<std::int64_t>(ages.bounds[bucket] * telemetry::kMillisecondsPerSecond));
}

// The last bucket that is not empty. At least one must have a count.
std::size_t oldest_of(const telemetry::HistogramValue& ages) {
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < ages.buckets.size(); ++i) {
    if (ages.buckets[i] > 0) oldest = i;
  }
  return oldest;
}

std::string label_of(const telemetry::HistogramValue& ages, std::size_t bucket) {
  if (bucket == ages.bounds.size()) {
    return bucket == 0 ? "any" : "older than " + whole_duration(bound_of(ages, bucket - 1));
  }
  return "up to " + whole_duration(bound_of(ages, bucket));
}

// A bar is visible from the first duplicate on.
std::string bar_of(std::uint64_t count, std::uint64_t most) {
  int width = 0;
  if (count > 0) {
    width = std::max(
        2, static_cast<int>(static_cast<double>(count) * kBarWidth / static_cast<double>(most)));
  }
  return fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 {0} {1}\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\"><rect width=\"{2}\" height=\"{1}\"></rect></svg>",
      kBarWidth, kBarHeight, width);
}

std::string ttl_row(milliseconds ttl) {
  return fmt::format(
      "<tr class=\"ttl\"><th scope=\"row\">ttl {}</th><td colspan=\"2\">records older than this "
      "are "
      "removed</td></tr>\n",
      whole_duration(ttl));
}

}  // namespace

std::string verdict_of(const DuplicateAges& seen, std::optional<milliseconds> ttl) {
  const std::uint64_t all = sum_of_ages(seen.ages);
  if (all == 0) {
    return "This process has seen no duplicate since it began, so nothing is known of their age.";
  }
  const std::size_t oldest = oldest_of(seen.ages);
  const std::string came =
      fmt::format("{} of {} since this process began", all == 1 ? "The age" : "The oldest",
                  all == 1 ? "the one duplicate" : grouped_digits(all, ',') + " duplicates");
  const std::string age = label_of(seen.ages, oldest);
  if (!ttl) return fmt::format("{}: {}. Records are kept for ever.", came, age);
  if (seen.near_ttl > 0) {
    return fmt::format(
        "{}: {}. {} older than four fifths of the ttl of {}: one that comes after it is handled "
        "again. A longer dedup.ttl keeps records for it.",
        came, age, seen.near_ttl == 1 ? "One was" : grouped_digits(seen.near_ttl, ',') + " were",
        whole_duration(*ttl));
  }
  return fmt::format("{}: {}. Records are kept for {}: none came near the end of it.", came, age,
                     whole_duration(*ttl));
}

std::string age_picture(const telemetry::HistogramValue& ages, std::optional<milliseconds> ttl) {
  if (sum_of_ages(ages) == 0) return {};
  const std::uint64_t most = *std::ranges::max_element(ages.buckets);
  std::string made =
      "<table class=\"ages\"><thead><tr><th scope=\"col\">Age of the effect</th><th "
      "scope=\"col\">Duplicates</th><th class=\"number\" scope=\"col\">Count</th></tr></thead>"
      "<tbody>\n";
  bool drawn = !ttl;
  for (std::size_t i = 0; i < ages.buckets.size(); ++i) {
    // The row of the ttl goes before the first bucket that begins at the ttl or later.
    if (!drawn && i > 0 && bound_of(ages, i - 1) >= *ttl) {
      made += ttl_row(*ttl);
      drawn = true;
    }
    made += fmt::format(
        "<tr{}><th scope=\"row\">{}</th><td class=\"bars\">{}</td><td "
        "class=\"number\">{}</td></tr>\n",
        drawn && ttl ? " class=\"past\"" : "", label_of(ages, i), bar_of(ages.buckets[i], most),
        grouped_digits(ages.buckets[i], ','));
  }
  if (!drawn) made += ttl_row(*ttl);
  return made + "</tbody></table>\n";
}

}  // namespace semel::admin
