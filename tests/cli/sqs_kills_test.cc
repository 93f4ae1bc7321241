// A process that reads an SQS queue is killed and started again. In the end each payment has had
// its effect once, and all of them sent again change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>
#include <thread>

#include "tests/cli/soak.h"
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
  SqsScene scene(ElasticmqServer::shared(), {.copied = 10});
  EXPECT_LE(scene.config_lines(), 22U);
  // ElasticMQ keeps its queues in memory: they do not outlive it.
  soak(scene, "sqs", soak_size({5'000, 3}, {20'000, 5}, {100'000, 10}), [] {});
}

}  // namespace
}  // namespace semel::test
