// Messages held on a server whose clock may go backwards.
#include <fmt/format.h>

#include <algorithm>

#include <semel/spi/held_messages.h>

#include "stores/redis/test_place.h"

namespace semel::redis {
namespace {

// A server whose clock is set back, as by a failover to one that is behind.
TEST(HeldOnAServerWithAnotherClock, ARetryThatIsNotDueAnyMoreIsKeptUntilItIs) {
  constexpr std::int64_t kNow = 2'000'000'000'000'000;
  constexpr int kRows = 20;
  const test::RedisServer mine(test::RedisServer::fast());
  const auto set_clock = [&](std::chrono::seconds after) {
    mine.query(fmt::format("SET clock {}", kNow + std::chrono::microseconds(after).count()));
  };
  set_clock(0s);
  TestPlace place(mine, {}, "redis.call('GET', 'clock')");
  HeldMessages& held = *place.store().facets().held;
  const auto take = [&] { return held.take(place.consumer(), 100, 1 << 20, 60s).value(); };
  const auto messages = test::make_messages(place.consumer(), "k", kRows);
  for (const Message& m : messages) {
    ASSERT_EQ(place.finish(test::retrying(place.acquire(m), 10s, &m)).value(), Applied::kYes);
  }
  set_clock(11s);
  const auto shown = take();
  ASSERT_EQ(shown.size(), messages.size());
  set_clock(5s);
  std::vector<Finish> acks;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_TRUE(std::holds_alternative<Waiting>(*place.try_claim(messages[i])));
    acks.push_back(test::ack_only(*shown[i].row));
  }
  ASSERT_TRUE(place.store().finish(acks).has_value());
  EXPECT_TRUE(take().empty());
  set_clock(10s);
  const auto again = take();
  ASSERT_EQ(again.size(), messages.size()) << "nothing else has these messages";
  for (const Arrival& arrival : again) {
    const auto m = std::ranges::find(messages, *arrival.key,
                                     [](const Message& one) { return one.key().text; });
    ASSERT_NE(m, messages.end());
    Finish done = test::completed(place.acquire(*m));
    done.ack = arrival.row;
    ASSERT_EQ(place.finish(done).value(), Applied::kYes);
  }
  EXPECT_EQ(held.depth(place.consumer()).value().rows, 0U);
}

}  // namespace
}  // namespace semel::redis
