#include "tests/cli/payments.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace semel::test {

Payments make_payments(std::size_t count, std::size_t reused, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<double, std::string>> order;
  std::uniform_real_distribution<double> later(0.5, static_cast<double>(count) / 10 + 1);
  std::bernoulli_distribution twice(0.12);
  Payments made;
  for (std::size_t i = 0; i < count; ++i) {
    const int account = 1 + static_cast<int>(i % 100);
    const int amount = 1 + static_cast<int>(random() % 1'000);
    const std::string id = fmt::format("pay-{}", i);
    const double at = static_cast<double>(i);
    order.emplace_back(at, payment(id, account, amount));
    made.sum += amount;
    if (twice(random)) order.emplace_back(at + later(random), payment(id, account, amount));
    if (i < reused) order.emplace_back(at + later(random), payment(id, account, amount + 1));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [at, line] : order) made.lines += line;
  made.deliveries = order.size();
  return made;
}

}  // namespace semel::test
