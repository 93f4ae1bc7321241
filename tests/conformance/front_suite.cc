// The rules for every window in front of the records.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <semel/front.h>
#include <semel/memory.h>
#include <semel/redis.h>

#include "base/digest.h"
#include "tests/conformance/front_suite.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"

namespace semel {
namespace {

using conformance::at;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::comes_true;

std::vector<FrontEntry> entries_of(std::string_view prefix, std::size_t count) {
  std::vector<FrontEntry> entries(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto code = digest::sha256(fmt::format("{}{}", prefix, i));
    std::copy_n(code.begin(), 16, entries[i].name.begin());
    std::copy_n(code.begin() + 16, 16, entries[i].mark.begin());
  }
  return entries;
}

std::vector<FrontName> names_of(const std::vector<FrontEntry>& entries) {
  std::vector<FrontName> names;
  for (const FrontEntry& one : entries) names.push_back(one.name);
  return names;
}

std::size_t found_in(FrontWindow& window, const std::vector<FrontEntry>& entries) {
  const auto found = window.look(names_of(entries));
  if (!found || found->size() != entries.size()) return 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if ((*found)[i] == digest::view(entries[i].mark)) ++count;
  }
  return count;
}

struct WindowCase {
  const char* name;
  std::unique_ptr<FrontWindow> (*make)(milliseconds ttl);
};

std::unique_ptr<FrontWindow> in_memory(milliseconds ttl) {
  return make_memory_front({.entries = 100'000, .ttl = ttl});
}
std::unique_ptr<FrontWindow> in_redis(milliseconds ttl) {
  const auto& server = test::RedisServer::shared();
  auto options = at(server.url(), server.new_database() + ":");
  options.ttl = ttl;
  return open_redis_front(options).value();
}
std::unique_ptr<FrontWindow> in_cluster(milliseconds ttl) {
  const auto& cluster = test::RedisCluster::shared();
  auto options = at(cluster.url(), cluster.new_prefix());
  options.ttl = ttl;
  return open_redis_front(options).value();
}

class EveryFrontWindow : public ::testing::TestWithParam<WindowCase> {
 protected:
  std::unique_ptr<FrontWindow> make(milliseconds ttl = seconds(600)) {
    return GetParam().make(ttl);
  }
};

TEST_P(EveryFrontWindow, FindsWhatItKeepsAndNothingElse) {
  const auto window = make();
  EXPECT_TRUE(window->check().has_value());
  EXPECT_TRUE(window->look({})->empty());
  const auto kept = entries_of("a", 300);
  window->keep(kept);
  EXPECT_TRUE(comes_true([&] { return found_in(*window, kept) == kept.size(); }));
  auto mixed = entries_of("b", 3);
  mixed[1] = kept[7];
  const auto found = window->look(names_of(mixed)).value();
  EXPECT_EQ(found[0], "");
  EXPECT_EQ(found[1], digest::view(kept[7].mark));
  EXPECT_EQ(found[2], "");
}

TEST_P(EveryFrontWindow, ForgetsWhenTheTimeIsOver) {
  const auto window = make(milliseconds(400));
  const auto kept = entries_of("a", 20);
  ASSERT_TRUE(comes_true([&] {
    window->keep(kept);
    return found_in(*window, kept) == kept.size();
  }));
  EXPECT_TRUE(comes_true([&] { return found_in(*window, kept) == 0; }));
}

TEST_P(EveryFrontWindow, RaceOfThreadsIsServed) {
  const auto window = make();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&window, t] {
      const auto mine = entries_of(fmt::format("t{}-", t), 100);
      for (const FrontEntry& one : mine) {
        window->keep({&one, 1});
        EXPECT_TRUE(window->look({&one.name, 1}).has_value());
      }
      EXPECT_TRUE(comes_true([&] { return found_in(*window, mine) == mine.size(); }));
    });
  }
  for (auto& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Front, EveryFrontWindow,
                         ::testing::Values(WindowCase{"memory", in_memory},
                                           WindowCase{"redis", in_redis},
                                           WindowCase{"redis_cluster", in_cluster}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MemoryFront, KeepsNoMoreThanItsEntriesAndTheNewest) {
  const auto window = make_memory_front({.entries = 64});
  const auto many = entries_of("m", 4'000);
  window->keep(many);
  EXPECT_LE(found_in(*window, many), 64U);
  EXPECT_EQ(found_in(*window, {many.back()}), 1U);
  const auto least = make_memory_front({.entries = 1});
  least->keep(many);
  EXPECT_EQ(found_in(*least, many), 1U);
}

TEST(RedisFrontUrl, WhatCannotBeReadIsRefused) {
  const auto refused = open_redis_front({.url = "http://nowhere"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R259");
}

}  // namespace
}  // namespace semel
