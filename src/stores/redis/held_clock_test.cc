// Messages held on a server whose clock may go backwards.
#include <fmt/format.h>

#include <algorithm>

#include <semel/admin/records.h>
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

// Numbers of rows that are appended at once are ahead of the clock.
TEST(HeldOnAServerWithAnotherClock, WhatIsUnlockedIsBehindRowsWhoseNumbersAreAheadOfTheClock) {
  const test::RedisServer mine(test::RedisServer::fast());
  mine.query("SET clock 2000000000000000");
  const auto line_of = [](const Arrival&) { return std::optional(Bytes("line")); };
  for (const bool dead : {false, true}) {
    TestPlace place(mine, {}, "redis.call('GET', 'clock')");
    HeldMessages& held = *place.store().facets().held;
    const auto append = [&](BytesView payload) {
      OutgoingMessage message;
      message.payload = Bytes(payload);
      ASSERT_TRUE(held.append(place.consumer(), {&message, 1}).has_value());
    };
    const auto take = [&](std::size_t most) {
      return held.take(place.consumer(), most, 1 << 20, 60s, line_of).value();
    };
    for (const char* payload : {"1", "2", "3"}) append(payload);
    const auto first = take(1);
    ASSERT_EQ(first.size(), 1U);
    const Message m = test::make_message(place.consumer(), "k", "1");
    const Lease lease = place.acquire(m);
    Finish end = dead ? test::dead(lease, &m) : test::parked(lease, &m);
    end.arrival = first.data();
    end.ack = first[0].row;
    ASSERT_EQ(place.finish(end).value(), Applied::kYes);
    append("4");
    ASSERT_TRUE(place.store().facets().records->unlock(m.key().id).value());
    append("5");
    Bytes order;
    for (const Arrival& arrival : take(10)) order += arrival.payload;
    EXPECT_EQ(order, "23415") << (dead ? "dead" : "parked");
  }
}

}  // namespace
}  // namespace semel::redis
