// A process that reads an SQS queue is killed and started again. In the end each payment has had
// its effect once, and all of them sent again change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

#include "tests/cli/sqs_scene.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

struct SqsKillCase {
  Ground ground;
  bool fifo;
};

class SqsKills : public ::testing::TestWithParam<SqsKillCase> {};

TEST_P(SqsKills, TheRunIsKilledAgainAndAgain) {
  const bool inbox = GetParam().ground == Ground::kPostgres;
  SqsScene scene(ElasticmqServer::shared(), {.ground = GetParam().ground,
                                             .fifo = GetParam().fifo,
                                             .more = inbox ? "    strategy: inbox\n" : ""});
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  scene.publish(300);
  auto runner = scene.start();
  std::size_t killed = 0;
  const std::size_t kills = soak_times(6);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = scene.sum();
    scene.publish(300);
    ASSERT_TRUE(comes_true([&] { return scene.sum() > before; }, seconds(60)))
        << "kill " << i << '\n'
        << runner->err();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    // One in three goes in good order.
    runner->signal(i % 3 == 2 ? SIGTERM : SIGKILL);
    const Ran ran = runner->wait();
    if (ran.signal == SIGKILL) ++killed;
    EXPECT_TRUE(ran.signal != 0 || ran.code == 0) << ran.err;
    runner = scene.start();
  }
  EXPECT_GE(killed, kills / 2);
  scene.finish(*runner);
  scene.expect_nothing_happens_again();
}

INSTANTIATE_TEST_SUITE_P(Stores, SqsKills,
                         ::testing::Values(SqsKillCase{Ground::kSqlite, false},
                                           SqsKillCase{Ground::kSqlite, true},
                                           SqsKillCase{Ground::kPostgres, false}),
                         [](const auto& info) {
                           return name_of_ground(info.param.ground) +
                                  (info.param.fifo ? "Fifo" : "Standard");
                         });

// The promise of docs/sources/sqs.md, in one run: a config of some twenty lines, a queue of which
// each tenth message stands there twice, and one process that is killed and started again.
TEST(SqsSoak, AQueueIsReadByAProcessThatIsKilledAgainAndAgain) {
  const std::size_t messages = soaks() ? 100'000 : 5'000;
  const std::size_t kills = soaks() ? 10 : 3;
  SqsScene scene(ElasticmqServer::shared(), {.copied = 10});
  EXPECT_LE(scene.config_lines(), 22U);
  const std::size_t share = messages * 10 / 11 / kills;
  std::size_t in_mid_work = 0;
  std::size_t killed = 0;
  for (; in_mid_work < kills && killed < 5 * kills; ++killed) {
    scene.publish(share);
    const auto next = scene.last_effect() + static_cast<std::int64_t>(share / 4);
    auto runner = scene.start();
    ASSERT_TRUE(comes_true([&] { return scene.last_effect() >= next; }))
        << "kill " << killed << '\n'
        << runner->err();
    runner->signal(SIGKILL);
    EXPECT_EQ(runner->wait().signal, SIGKILL);
    if (scene.last_effect() < static_cast<std::int64_t>(scene.published())) ++in_mid_work;
  }
  EXPECT_EQ(in_mid_work, kills) << "the kills come too late";
  auto last = scene.start();
  scene.finish(*last);
  scene.expect_nothing_happens_again();
  std::printf(
      "%zu messages, %zu of them copies, %zu kills, %zu of them in mid-work: sum %lld of %lld, "
      "%lld effects; all sent again: the same\n",
      scene.deliveries(), scene.deliveries() - scene.published(), killed, in_mid_work,
      static_cast<long long>(scene.sum()), static_cast<long long>(scene.published_sum()),
      static_cast<long long>(scene.last_effect()));
}

}  // namespace
}  // namespace semel::test
