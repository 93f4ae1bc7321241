#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <semel/key.h>

#include "tests/support/rounds.h"

namespace semel {
namespace {

constexpr std::size_t kKeySize = 36;

std::vector<std::string> some_keys(std::size_t count) {
  std::vector<std::string> made(count);
  std::ranges::generate(made, &Key::random);
  return made;
}

// Keys that a child makes, and how it ends.
std::vector<std::string> keys_of_a_child(std::size_t count) {
  int channel[2];
  EXPECT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string all;
    for (const std::string& key : some_keys(count)) all += key;
    const auto size = static_cast<ssize_t>(all.size());
    ::_exit(::write(channel[1], all.data(), all.size()) == size ? 0 : 1);
  }
  ::close(channel[1]);
  std::string all(count * kKeySize, '\0');
  std::size_t got = 0;
  for (ssize_t some = 1; some > 0; got += static_cast<std::size_t>(some)) {
    some = ::read(channel[0], all.data() + got, all.size() - got);
    if (some <= 0) break;
  }
  ::close(channel[0]);
  EXPECT_EQ(got, all.size());
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::vector<std::string> keys;
  for (std::size_t at = 0; at < all.size(); at += kKeySize)
    keys.push_back(all.substr(at, kKeySize));
  return keys;
}

TEST(RandomKey, IsAUuidOfVersion7OfThisTime) {
  const auto now = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const auto before = now();
  const std::string key = Key::random();
  ASSERT_EQ(key.size(), kKeySize);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef-"), std::string::npos) << key;
  EXPECT_EQ(key[14], '7') << key;
  EXPECT_NE(std::string("89ab").find(key[19]), std::string::npos) << key;
  const long time = std::stol(key.substr(0, 8) + key.substr(9, 4), nullptr, 16);
  EXPECT_GE(time, before);
  EXPECT_LE(time, now() + 1);
}

TEST(RandomKey, EachIsGreaterThanTheOneBefore) {
  const auto keys = some_keys(test::rounds(1'000'000, 100'000));
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
}

TEST(RandomKey, ThreadsShareOneOrderAndNoKey) {
  constexpr std::size_t kEach = 20'000;
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (auto& keys : made) threads.emplace_back([&keys] { keys = some_keys(kEach); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> all;
  for (const auto& keys : made) {
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    all.insert(all.end(), keys.begin(), keys.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  EXPECT_GT(Key::random(), all.back()) << "whichever thread made it";
}

TEST(RandomKey, AChildRepeatsNoKeyOfItsParent) {
  std::set<std::string> seen;
  constexpr std::size_t kMade = 1'000;
  constexpr std::size_t kRandomPart = 8;
  const auto without_rest = [](const std::string& key) {
    return key.substr(0, key.size() - kRandomPart);
  };
  std::set<std::string> counters;
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> all = some_keys(1);
    for (auto& key : keys_of_a_child(kMade)) all.push_back(std::move(key));
    for (auto& key : some_keys(kMade)) all.push_back(std::move(key));
    for (const std::string& key : all) {
      EXPECT_TRUE(seen.insert(key).second) << key;
      EXPECT_TRUE(counters.insert(without_rest(key)).second)
          << key << ": not the last bits alone tell them apart";
    }
  }
}

// The lock of the key sequence is never copied while held.
TEST(RandomKey, AChildOfABusyProcessCanMakeKeys) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!stop) (void)Key::random();
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(keys_of_a_child(5).size(), 5U);
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

}  // namespace
}  // namespace semel
