// Soak: a consumer whose process is killed and started again in the midst of many messages, and
// whose server is. In the end each effect is there once, and the transcript says so.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "tests/cli/program.h"

namespace semel::test {

struct SoakSize {
  std::size_t messages = 0;      // copies among them
  std::size_t kills = 0;         // of the consumer, in mid-work
  std::size_t server_kills = 0;  // between them
};
// The first by day, the second in ./test --nightly, the third in ./test --soak.
// SEMEL_SOAK_MESSAGES, SEMEL_SOAK_KILLS and SEMEL_SOAK_SERVER_KILLS outrank all of them.
SoakSize soak_size(const SoakSize& by_day, const SoakSize& by_night, const SoakSize& in_soak);

struct SoakEnd {
  std::string_view source;
  std::size_t deliveries = 0, published = 0;  // payments with their copies, and without
  std::int64_t effects = 0, paid = 0;         // rows of `effect`, and how many payments they are of
  std::int64_t sum = 0, published_sum = 0;
  std::size_t killed = 0, in_mid_work = 0, server_kills = 0;
};
// Prints it, and expects that nothing was lost and nothing doubled.
void tell_soak(const SoakEnd& end);

// Waits until the count is there; false where it has not grown for `patience`. A slow machine takes
// its time for a million.
bool grows_to(const std::function<std::int64_t()>& count, std::int64_t wanted,
              std::chrono::milliseconds patience);

// Publishes share by share to a test bed of a broker, each tenth payment twice, and kills a run in
// the midst of each.
template <class BrokerTestBed>
void soak(BrokerTestBed& bed, std::string_view source, const SoakSize& size,
          const std::function<void()>& restart_server) {
  constexpr auto kPatience = std::chrono::seconds(120);
  const std::size_t share = size.messages * 10 / 11 / size.kills;
  SoakEnd end{.source = source};
  // A kill that comes late finds no more done than its own share, and is made up for.
  for (; end.in_mid_work < size.kills && end.killed < 5 * size.kills; ++end.killed) {
    bed.publish(share);
    const auto next = bed.last_effect() + static_cast<std::int64_t>(share / 2);
    auto runner = bed.start();
    ASSERT_TRUE(grows_to([&] { return bed.last_effect(); }, next, kPatience))
        << "kill " << end.killed << '\n'
        << runner->err();
    if (end.server_kills < size.server_kills && end.killed % 2 == 1) {
      restart_server();
      ++end.server_kills;
    }
    runner->signal(SIGKILL);
    EXPECT_EQ(runner->wait().signal, SIGKILL);
    if (bed.last_effect() < static_cast<std::int64_t>(bed.published())) ++end.in_mid_work;
  }
  EXPECT_EQ(end.in_mid_work, size.kills) << "the kills come too late";
  EXPECT_EQ(end.server_kills, size.server_kills);
  auto last = bed.start();
  EXPECT_TRUE(grows_to([&] { return bed.sum(); }, bed.published_sum(), kPatience)) << last->err();
  bed.finish(*last);
  bed.expect_nothing_happens_again();
  end.deliveries = bed.deliveries();
  end.published = bed.published();
  end.effects = bed.number("SELECT COUNT(*) FROM effect");
  end.paid = bed.number("SELECT COUNT(DISTINCT id) FROM effect");
  end.sum = bed.sum();
  end.published_sum = bed.published_sum();
  tell_soak(end);
}

}  // namespace semel::test
