// A process that reads a stream is killed and started again, in front of each kind of store, and
// so is the server. In the end each payment has had its effect once, and all of them sent again
// change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>
#include <thread>

#include "tests/cli/nats_test_bed.h"
#include "tests/cli/soak.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

class NatsKills : public ::testing::TestWithParam<DatabaseKind> {};

TEST_P(NatsKills, TheRunIsKilledAgainAndAgain) {
  const bool inbox = GetParam() == DatabaseKind::kPostgres;
  NatsTestBed bed(NatsServer::shared(),
                  {.database_kind = GetParam(), .more = inbox ? "    strategy: inbox\n" : ""});
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  bed.publish(300);
  auto runner = bed.start();
  std::size_t killed = 0;
  const std::size_t kills = soak_times(8);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = bed.sum();
    bed.publish(300);
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60))) << "kill " << i;
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

INSTANTIATE_TEST_SUITE_P(Stores, NatsKills,
                         ::testing::Values(DatabaseKind::kSqlite, DatabaseKind::kPostgres),
                         [](const auto& info) { return name_of_ground(info.param); });

// All that a killed process had in hand comes again when its time is over, and what is new would
// come before it.
TEST(NatsOrder, WhatIsOrderedIsNotOvertakenByWhatIsNewThoughTheRunIsKilled) {
  NatsTestBed bed(NatsServer::shared(), {.more_of_source = "prefetch: 40",
                                         .more = "    order: { key: json:/account }\n"
                                                 "    in_flight: { messages: 40 }\n"
                                                 "    batch: { max: 5 }\n"});
  bed.publish(1'500);
  std::size_t in_mid_work = 0;
  for (std::int64_t kill = 1; kill <= 3; ++kill) {
    auto runner = bed.start();
    ASSERT_TRUE(comes_true([&] { return bed.last_effect() >= kill * 300; }, seconds(60)))
        << runner->err();
    runner->signal(SIGKILL);
    EXPECT_EQ(runner->wait().signal, SIGKILL);
    if (bed.counts().ack_pending > 0 && bed.counts().pending > 0) ++in_mid_work;
  }
  EXPECT_GE(in_mid_work, 1U) << "the kills come too late";
  auto last = bed.start();
  bed.finish(*last);
  EXPECT_EQ(bed.number("SELECT count(*) FROM effect a JOIN effect b ON a.place < b.place "
                       "AND CAST(substr(a.id, 3) AS INTEGER) > CAST(substr(b.id, 3) AS INTEGER) "
                       "AND CAST(substr(a.id, 3) AS INTEGER) % 100 = "
                       "CAST(substr(b.id, 3) AS INTEGER) % 100"),
            0)
      << "of one account";
}

// The promise of docs/sources/nats.md, in one run: a config of some twenty lines, a stream of which
// each tenth message stands there twice, one process that is killed and started again, and a server
// that is.
TEST(NatsSoak, AStreamIsReadThoughProcessAndServerAreKilledAgainAndAgain) {
  NatsServer server;
  NatsTestBed bed(server, {.copied = 10});
  EXPECT_LE(bed.config_lines(), 20U);
  const auto restart = [&] {
    server.kill();
    server.start();
  };
  soak(bed, "nats", soak_size({20'000, 4, 2}, {100'000, 10, 3}, {1'000'000, 20, 10}), restart);
}

}  // namespace
}  // namespace semel::test
