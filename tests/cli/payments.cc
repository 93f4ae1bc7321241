#include "tests/cli/payments.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace semel::test {

Payments make_payments(std::size_t count, std::size_t reused, std::uint64_t seed,
                       std::size_t first) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<double, std::string>> order;
  std::uniform_real_distribution<double> later(0.5, static_cast<double>(count) / 10 + 1);
  std::bernoulli_distribution twice(0.12);
  Payments made;
  for (std::size_t i = 0; i < count; ++i) {
    const int account = 1 + static_cast<int>(i % 100);
    const int amount = 1 + static_cast<int>(random() % 1'000);
    const std::string id = fmt::format("pay-{}", first + i);
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

KilledRuns kill_runs(const std::string& config, const std::string& file, std::size_t each,
                     std::size_t reused, int kills, std::uint64_t seed,
                     const std::function<std::int64_t()>& sum) {
  std::mt19937_64 random(seed);
  KilledRuns all;
  const int most = 10 * kills;
  for (int killed = 0; all.in_mid_work < kills && killed < most; ++killed) {
    const Payments more =
        make_payments(each, reused, random(), each * static_cast<std::size_t>(killed));
    append_file(file, more.lines);
    all.sum += more.sum;
    all.deliveries += more.deliveries;
    all.reused += reused;
    const std::int64_t before = sum();
    Program runner({"run", config, "-q"});
    const bool begins = killed == 0;
    EXPECT_TRUE(begins || comes_true([&] { return sum() > before; })) << runner.err();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (begins ? 30'000 : 3'000)));
    runner.signal(SIGKILL);
    EXPECT_EQ(runner.wait().signal, SIGKILL) << runner.err();
    if (sum() < all.sum) ++all.in_mid_work;
  }
  EXPECT_EQ(all.in_mid_work, kills) << "the kills come too late";
  return all;
}

int kill_runners(const std::string& config, std::int64_t all, int kills,
                 const std::function<std::int64_t()>& sum) {
  int killed = 0;
  for (int i = 0; i < kills; ++i) {
    Program victim({"run", config, "-q"});
    const std::int64_t goal = sum() + all / (kills + 2);
    EXPECT_TRUE(comes_true([&] {
      const std::int64_t paid = sum();
      return !victim.runs() || paid >= goal || paid >= all;
    }));
    victim.signal(SIGKILL);
    const Ran ran = victim.wait();
    EXPECT_EQ(ran.signal, SIGKILL) << "it ended by itself, with " << ran.code << ": " << ran.err;
    if (ran.signal == SIGKILL) ++killed;
  }
  return killed;
}

}  // namespace semel::test
