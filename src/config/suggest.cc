#include "config/suggest.h"

#include <algorithm>
#include <vector>

#include "base/ascii.h"

namespace semel::config {
namespace {

std::string plain(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '_' || c == '-' || c == ' ') continue;
    out += ascii::lower(c);
  }
  return out;
}

// "retries" and "retry" count as one word, as do "topic" and "topics".
std::string singular(std::string word) {
  if (word.ends_with("ies")) return word.replace(word.size() - 3, 3, "y");
  if (word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  return word;
}

// The number of insertions, deletions, replacements and swaps of neighbouring characters.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view written,
                                   std::span<const std::string_view> known) {
  constexpr std::size_t kLongestWord = 64;
  if (written.empty() || written.size() > kLongestWord) return std::nullopt;
  const auto word = plain(written);
  std::optional<std::string> best;
  std::size_t best_cost = 0;
  for (const auto candidate : known) {
    const auto other = plain(candidate);
    const auto cost = singular(word) == singular(other) ? 0 : distance(word, other);
    const auto most = std::max<std::size_t>(1, std::min(word.size(), other.size()) / 3);
    if (cost > most || (best && cost >= best_cost)) continue;
    best = std::string(candidate);
    best_cost = cost;
  }
  return best;
}

}  // namespace semel::config
