#include "tests/cli/payments.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>
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

int kill_runs(const std::string& config, const Payments& made, int kills, std::uint64_t seed,
              const std::function<std::int64_t()>& sum) {
  std::mt19937_64 random(seed);
  int killed = 0;
  for (int i = 0; i < kills; ++i) {
    const std::int64_t goal = i == 0 ? 0 : sum() + made.sum / (kills + 2);
    Program runner({"run", config, "--once", "-q"});
    while (runner.runs() && sum() < goal) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (i == 0 ? 30'000 : 3'000)));
    runner.signal(SIGKILL);
    if (runner.wait().signal == SIGKILL) ++killed;
  }
  return killed;
}

}  // namespace semel::test
