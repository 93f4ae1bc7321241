// Processes that read a stream are killed and started again, and so is its server. In the end each
// payment has had its effect once, and all of them sent again change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <random>
#include <thread>

#include "tests/cli/redis_streams_test_bed.h"
#include "tests/cli/soak.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

struct StreamKill {
  DatabaseKind database_kind;
  const char* consumer;  // of the group; empty: a new name for each run
};

class RedisStreamsKills : public ::testing::TestWithParam<StreamKill> {};

TEST_P(RedisStreamsKills, TheRunIsKilledAgainAndAgain) {
  const bool inbox = GetParam().database_kind == DatabaseKind::kPostgres;
  RedisStreamsTestBed bed(RedisServer::shared(), {.database_kind = GetParam().database_kind,
                                                  .consumer = GetParam().consumer,
                                                  .more = inbox ? "    strategy: inbox\n" : ""});
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

INSTANTIATE_TEST_SUITE_P(Stores, RedisStreamsKills,
                         ::testing::Values(StreamKill{DatabaseKind::kSqlite, ""},
                                           StreamKill{DatabaseKind::kSqlite, "one"},
                                           StreamKill{DatabaseKind::kPostgres, ""}),
                         [](const auto& info) {
                           return name_of_ground(info.param.database_kind) +
                                  (*info.param.consumer == '\0' ? "NewNames" : "OneName");
                         });

// Two processes share the group; each kill leaves the other one to take over.
TEST(RedisStreamsMembers, OneOfTwoIsKilledAgainAndAgain) {
  RedisStreamsTestBed bed(RedisServer::shared(), {.database_kind = DatabaseKind::kPostgres,
                                                  .more_of_source = "prefetch: 50"});
  std::array runners = {bed.start(), bed.start()};
  const std::size_t kills = soak_times(6);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = bed.sum();
    bed.publish(400);
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60))) << "kill " << i;
    auto& victim = runners[i % 2];
    victim->signal(SIGKILL);
    EXPECT_EQ(victim->wait().signal, SIGKILL);
    victim = bed.start();
  }
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); }, seconds(60)));
  runners[0]->signal(SIGTERM);
  EXPECT_EQ(runners[0]->wait().code, 0);
  bed.finish(*runners[1]);
  bed.expect_nothing_happens_again();
}

// Durable as a Redis can be: what it acknowledged outlives it.
TEST(RedisStreamsServer, IsKilledAgainAndAgain) {
  RedisServer server;
  RedisStreamsTestBed bed(server, {.more_of_source = "prefetch: 50"});
  auto runner = bed.start();
  const std::size_t kills = soak_times(3);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = bed.sum();
    bed.publish(1'000);
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60))) << "kill " << i << '\n'
                                                                             << runner->err();
    server.kill();
    EXPECT_TRUE(tells(*runner, "R250")) << runner->err();
    server.start();
  }
  bed.finish(*runner);
  bed.expect_nothing_happens_again();
}

// The promise of docs/sources/redis-streams.md in one run: a config of some twenty lines, a stream
// of which each tenth entry stands there twice, one process that is killed and started again, and a
// server that is.
TEST(RedisStreamsSoak, AStreamIsReadThoughProcessAndServerAreKilledAgainAndAgain) {
  RedisServer server(RedisServer::fast());
  RedisStreamsTestBed bed(server, {.consumer = "one", .copied = 10});
  EXPECT_LE(bed.config_lines(), 20U);
  const auto restart = [&] {
    server.kill();
    server.start();
  };
  soak(bed, "redis_streams", soak_size({20'000, 4, 1}, {100'000, 10, 3}, {1'000'000, 20, 6}),
       restart);
}

// Each account's payments, one after the other, though the run is killed in their midst.
TEST(RedisStreamsOrder, IsThatOfTheStreamThoughTheRunIsKilled) {
  RedisStreamsTestBed bed(
      RedisServer::shared(),
      {.consumer = "one",
       .copied = 7,
       .more = "    order: { key: json:/account }\n",
       .handler = "    handler:\n"
                  "      sql:\n"
                  "        params: { id: json:/id, account: json:/account, amount: json:/amount }\n"
                  "        statements:\n"
                  "          - sql: UPDATE account SET balance = balance + :amount WHERE id = "
                  ":account\n"
                  "            expect_rows: 1\n"
                  "          - INSERT INTO effect (id) VALUES (:id)\n"
                  "          - INSERT INTO line (account, number) VALUES (:account, "
                  "CAST(substr(:id, 3) AS INTEGER))\n"});
  bed.sql(
      "CREATE TABLE line (place INTEGER PRIMARY KEY AUTOINCREMENT, account INTEGER, number "
      "INTEGER)");
  auto runner = bed.start();
  const std::size_t kills = soak_times(5);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = bed.sum();
    bed.publish(1'000);
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60))) << "kill " << i << '\n'
                                                                             << runner->err();
    runner->signal(SIGKILL);
    EXPECT_EQ(runner->wait().signal, SIGKILL);
    runner = bed.start();
  }
  bed.finish(*runner);
  EXPECT_EQ(bed.number("SELECT COUNT(*) FROM line"), static_cast<std::int64_t>(bed.published()));
  EXPECT_EQ(bed.number("SELECT COUNT(*) FROM line a JOIN line b ON b.account = a.account AND "
                       "b.place > a.place AND b.number < a.number"),
            0);
}

}  // namespace
}  // namespace semel::test
