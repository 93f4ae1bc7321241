// Processes that read a stream are killed and started again, and so is its server. In the end each
// payment has had its effect once, and all of them sent again change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <random>
#include <thread>

#include "tests/cli/redis_streams_scene.h"
#include "tests/cli/soak.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

struct StreamKill {
  Ground ground;
  const char* consumer;  // of the group; empty: a new name for each run
};

class RedisStreamsKills : public ::testing::TestWithParam<StreamKill> {};

TEST_P(RedisStreamsKills, TheRunIsKilledAgainAndAgain) {
  const bool inbox = GetParam().ground == Ground::kPostgres;
  RedisStreamsScene scene(RedisServer::shared(), {.ground = GetParam().ground,
                                                  .consumer = GetParam().consumer,
                                                  .more = inbox ? "    strategy: inbox\n" : ""});
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  scene.publish(300);
  auto runner = scene.start();
  std::size_t killed = 0;
  const std::size_t kills = soak_times(8);
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

INSTANTIATE_TEST_SUITE_P(Stores, RedisStreamsKills,
                         ::testing::Values(StreamKill{Ground::kSqlite, ""},
                                           StreamKill{Ground::kSqlite, "one"},
                                           StreamKill{Ground::kPostgres, ""}),
                         [](const auto& info) {
                           return name_of_ground(info.param.ground) +
                                  (*info.param.consumer == '\0' ? "NewNames" : "OneName");
                         });

// Two processes share the group; each kill leaves the other one to take over.
TEST(RedisStreamsMembers, OneOfTwoIsKilledAgainAndAgain) {
  RedisStreamsScene scene(RedisServer::shared(),
                          {.ground = Ground::kPostgres, .more_of_source = "prefetch: 50"});
  std::array runners = {scene.start(), scene.start()};
  const std::size_t kills = soak_times(6);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = scene.sum();
    scene.publish(400);
    ASSERT_TRUE(comes_true([&] { return scene.sum() > before; }, seconds(60))) << "kill " << i;
    auto& victim = runners[i % 2];
    victim->signal(SIGKILL);
    EXPECT_EQ(victim->wait().signal, SIGKILL);
    victim = scene.start();
  }
  EXPECT_TRUE(comes_true([&] { return scene.all_done(); }, seconds(60)));
  runners[0]->signal(SIGTERM);
  EXPECT_EQ(runners[0]->wait().code, 0);
  scene.finish(*runners[1]);
  scene.expect_nothing_happens_again();
}

// Durable as a Redis can be: what it acknowledged outlives it.
TEST(RedisStreamsServer, IsKilledAgainAndAgain) {
  RedisServer server;
  RedisStreamsScene scene(server, {.more_of_source = "prefetch: 50"});
  auto runner = scene.start();
  const std::size_t kills = soak_times(3);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = scene.sum();
    scene.publish(1'000);
    ASSERT_TRUE(comes_true([&] { return scene.sum() > before; }, seconds(60)))
        << "kill " << i << '\n'
        << runner->err();
    server.kill();
    EXPECT_TRUE(tells(*runner, "R250")) << runner->err();
    server.start();
  }
  scene.finish(*runner);
  scene.expect_nothing_happens_again();
}

// The promise of docs/sources/redis-streams.md in one run: a config of some twenty lines, a stream
// of which each tenth entry stands there twice, one process that is killed and started again, and a
// server that is.
TEST(RedisStreamsSoak, AStreamIsReadThoughProcessAndServerAreKilledAgainAndAgain) {
  RedisServer server(RedisServer::fast());
  RedisStreamsScene scene(server, {.consumer = "one", .copied = 10});
  EXPECT_LE(scene.config_lines(), 20U);
  const auto restart = [&] {
    server.kill();
    server.start();
  };
  soak(scene, "redis_streams", soak_size({20'000, 4, 1}, {100'000, 10, 3}, {1'000'000, 20, 6}),
       restart);
}

// Each account's payments, one after the other, though the run is killed in their midst.
TEST(RedisStreamsOrder, IsThatOfTheStreamThoughTheRunIsKilled) {
  RedisStreamsScene scene(
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
  scene.sql(
      "CREATE TABLE line (place INTEGER PRIMARY KEY AUTOINCREMENT, account INTEGER, number "
      "INTEGER)");
  auto runner = scene.start();
  const std::size_t kills = soak_times(5);
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = scene.sum();
    scene.publish(1'000);
    ASSERT_TRUE(comes_true([&] { return scene.sum() > before; }, seconds(60)))
        << "kill " << i << '\n'
        << runner->err();
    runner->signal(SIGKILL);
    EXPECT_EQ(runner->wait().signal, SIGKILL);
    runner = scene.start();
  }
  scene.finish(*runner);
  EXPECT_EQ(scene.number("SELECT COUNT(*) FROM line"),
            static_cast<std::int64_t>(scene.published()));
  EXPECT_EQ(scene.number("SELECT COUNT(*) FROM line a JOIN line b ON b.account = a.account AND "
                         "b.place > a.place AND b.number < a.number"),
            0);
}

}  // namespace
}  // namespace semel::test
