// A process that reads an SQS queue is killed and started again. In the end each payment has had
// its effect once, and all of them sent again change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>
#include <thread>

#include "tests/cli/soak.h"
#include "tests/cli/sqs_test_bed.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

struct SqsKillCase {
  DatabaseKind database_kind;
  bool fifo;
};

class SqsKills : public ::testing::TestWithParam<SqsKillCase> {};

TEST_P(SqsKills, TheRunIsKilledAgainAndAgain) {
  const bool inbox = GetParam().database_kind == DatabaseKind::kPostgres;
  SqsTestBed bed(ElasticmqServer::shared(), {.database_kind = GetParam().database_kind,
                                             .fifo = GetParam().fifo,
                                             .more = inbox ? "    strategy: inbox\n" : ""});
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  bed.publish(300);
  auto runner = bed.start();
  std::size_t killed = 0;
  const std::size_t kills = soak_times(6);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = bed.sum();
    bed.publish(300);
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60))) << "kill " << i << '\n'
                                                                             << runner->err();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    // One in three goes in good order.
    runner->signal(i % 3 == 2 ? SIGTERM : SIGKILL);
    const Ran ran = runner->wait();
    if (ran.signal == SIGKILL) ++killed;
    EXPECT_TRUE(ran.signal != 0 || ran.code == 0) << ran.err;
    runner = bed.start();
  }
  EXPECT_GE(killed, kills / 2);
  bed.finish(*runner);
  bed.expect_nothing_happens_again();
}

INSTANTIATE_TEST_SUITE_P(Stores, SqsKills,
                         ::testing::Values(SqsKillCase{DatabaseKind::kSqlite, false},
                                           SqsKillCase{DatabaseKind::kSqlite, true},
                                           SqsKillCase{DatabaseKind::kPostgres, false}),
                         [](const auto& info) {
                           return name_of_ground(info.param.database_kind) +
                                  (info.param.fifo ? "Fifo" : "Standard");
                         });

// The promise of docs/sources/sqs.md, in one run: a config of some twenty lines, a queue of which
// each tenth message stands there twice, and one process that is killed and started again.
TEST(SqsSoak, AQueueIsReadByAProcessThatIsKilledAgainAndAgain) {
  SqsTestBed bed(ElasticmqServer::shared(), {.copied = 10});
  EXPECT_LE(bed.config_lines(), 22U);
  // ElasticMQ keeps its queues in memory: they do not outlive it.
  soak(bed, "sqs", soak_size({5'000, 3}, {20'000, 5}, {100'000, 10}), [] {});
}

}  // namespace
}  // namespace semel::test
