// A take among more due rows than one call looks at.
#include <fmt/format.h>

#include <semel/spi/held_messages.h>

#include <functional>
#include <utility>

#include "stores/redis/test_place.h"

namespace semel::redis {
namespace {

using test::RedisServer;

// More than one call looks at.
constexpr std::size_t kMany = 5'000;

class TakesAmongMany : public testing::Test {
 protected:
  HeldMessages& held() { return *place_.store().facets().held; }
  std::vector<Arrival> take(std::size_t most) {
    return held().take(place_.consumer(), most, 64 << 20, 1h).value();
  }
  // As `defer` leaves them: each is due, although it is behind others of its line.
  void defer(char line, std::size_t count) {
    Arrival arrival;
    arrival.line = Bytes(1, line);
    std::vector<Message> messages;
    for (std::size_t i = 0; i < count; ++i) {
      messages.push_back(place_.message(fmt::format("{}{}", line, i)));
    }
    std::vector<Finish> batch(count);
    for (std::size_t i = 0; i < count; ++i) {
      batch[i].to = Finish::To::kRetrying;
      batch[i].keep = &messages[i];
      batch[i].arrival = &arrival;
    }
    ASSERT_TRUE(place_.store().finish(batch).has_value());
  }
  void release(const Arrival& arrival) {
    ASSERT_TRUE(held().release({&*arrival.row, 1}, 0ms).has_value());
  }
  // How often a script was run meanwhile.
  std::string scripts_run(const std::function<void()>& meanwhile) {
    mine_.query("CONFIG RESETSTAT");
    meanwhile();
    const std::string stats = mine_.query("INFO commandstats");
    const std::string name = "cmdstat_evalsha:calls=";
    const auto at = stats.find(name);
    if (at == std::string::npos) return "0";
    return stats.substr(at + name.size(), stats.find(',', at) - at - name.size());
  }

  const RedisServer mine_{RedisServer::fast()};
  TestPlace place_{mine_};
};

TEST_F(TakesAmongMany, DueRowsBehindOneThatAnotherHasHideNobody) {
  const auto other = open_redis(place_.options()).value();
  defer('a', kMany);
  defer('b', 1);
  const auto first = other->facets().held->take(place_.consumer(), 1, 1 << 20, 1h).value();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].key, "a0");
  std::vector<Arrival> taken;
  EXPECT_EQ(scripts_run([&] { taken = take(1); }), "2") << "one call looks at a limited number";
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].key, "b0");
  release(taken[0]);
  EXPECT_EQ(scripts_run([&] { taken = take(100); }), "1") << "what waits is looked at once";
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].key, "b0");
  ASSERT_TRUE(held().remove({&*taken[0].row, 1}).has_value());

  // None of those that were hidden is lost, nor out of order.
  ASSERT_TRUE(other->facets().held->release({&*first[0].row, 1}, 0ms).has_value());
  std::size_t next = 0;
  for (taken = take(1000); !taken.empty(); taken = take(1000)) {
    std::vector<RowTag> gone;
    for (const Arrival& arrival : taken) {
      EXPECT_EQ(arrival.key, fmt::format("a{}", next));
      ++next;
      gone.push_back(*arrival.row);
    }
    ASSERT_TRUE(held().remove(gone).has_value());
  }
  EXPECT_EQ(next, kMany);
}

TEST_F(TakesAmongMany, DueRowsOfALineThatIsFreeComeInOrder) {
  defer('a', kMany);
  auto taken = take(3'000);
  for (Arrival& arrival : take(kMany - 3'000)) taken.push_back(std::move(arrival));
  ASSERT_EQ(taken.size(), kMany);
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_EQ(taken[i].key, fmt::format("a{}", i));
  EXPECT_TRUE(take(1).empty());
}

TEST_F(TakesAmongMany, WhatWaitsIsNotLookedAtAgain) {
  defer('a', kMany);
  ASSERT_EQ(take(1).size(), 1U);
  const auto other = open_redis(place_.options()).value();
  HeldMessages& others = *other->facets().held;
  std::size_t had = 1;
  EXPECT_EQ(scripts_run([&] { had = others.take(place_.consumer(), 9, 1 << 20, 1h)->size(); }),
            "2");
  EXPECT_EQ(had, 0U);
  EXPECT_EQ(scripts_run([&] { had = others.take(place_.consumer(), 9, 1 << 20, 1h)->size(); }),
            "1");
  EXPECT_EQ(had, 0U);
}

}  // namespace
}  // namespace semel::redis
