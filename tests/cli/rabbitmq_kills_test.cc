// A process that reads a queue is killed and started again, in front of each kind of store. In the
// end each payment has had its effect once, and all of them sent again change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/rabbitmq_test_bed.h"
#include "tests/cli/soak.h"
#include "tests/support/redis_server.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RabbitmqKills : public ::testing::TestWithParam<DatabaseKind> {};

TEST_P(RabbitmqKills, TheRunIsKilledAgainAndAgain) {
  const bool inbox = GetParam() == DatabaseKind::kPostgres;
  RabbitmqTestBed bed(RabbitmqServer::shared(),
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

INSTANTIATE_TEST_SUITE_P(Stores, RabbitmqKills,
                         ::testing::Values(DatabaseKind::kSqlite, DatabaseKind::kPostgres),
                         [](const auto& info) { return name_of_ground(info.param); });

// The promise of docs/sources/rabbitmq.md, in one run: a config of some twenty lines, a quorum
// queue of which each tenth message stands there twice, one process that is killed and started
// again, and a broker that is.
TEST(RabbitmqSoak, AQueueIsReadThoughProcessAndBrokerAreKilledAgainAndAgain) {
  constexpr std::int64_t kPrefetch = 200;
  RabbitmqServer server;
  RabbitmqTestBed bed(server,
                      {.copied = 10, .more_of_source = fmt::format("prefetch: {}", kPrefetch)});
  EXPECT_LE(bed.config_lines(), 20U);
  const auto restart = [&] {
    server.kill();
    const auto before = bed.last_effect();
    server.start();
    // The broker listens before its quorum queues have a leader, and ends the connection of whoever
    // publishes to one meanwhile. More effects than the process had messages in hand: it has one.
    EXPECT_TRUE(comes_true([&] { return bed.last_effect() > before + kPrefetch || bed.all_done(); },
                           seconds(120)));
  };
  soak(bed, "rabbitmq", soak_size({20'000, 4, 1}, {100'000, 10, 3}, {1'000'000, 20, 10}), restart);
}

// A queue, a Redis that keeps the records, and a command whose calls are counted.
class RabbitmqRedis : public ::testing::Test {
 protected:
  RabbitmqRedis() : queue_(broker_.new_queue("quorum")) {
    write_file(folder_.file("semel.yaml"),
               fmt::format("version: 1\n"
                           "store: {{ redis: {{ url: \"{}\", prefix: \"{}:\" }} }}\n"
                           "consumers:\n"
                           "  - name: payments\n"
                           "    source: {{ rabbitmq: {{ url: \"{}\", queue: {} }} }}\n"
                           "    key: json:/id\n"
                           "    strategy: state_machine\n"
                           "    dedup: {{ lease: 2s }}\n"
                           "    concurrency: 8\n"
                           "    handler: {{ exec: [./handler.sh] }}\n",
                           redis_.url(), redis_.new_database(), broker_.url(), queue_));
    write_file(folder_.file("handler.sh"),
               fmt::format("#!/bin/sh\ncat > /dev/null\necho \"$SEMEL_KEY\" >> '{}'\n", calls()));
    std::filesystem::permissions(folder_.file("handler.sh"), std::filesystem::perms::owner_all);
    write_file(calls(), {});
  }

  std::string calls() const { return folder_.file("calls"); }
  struct Balance {
    std::size_t calls = 0;
    std::size_t keys = 0;
    std::size_t twice = 0;  // keys with more than one call
  };
  Balance balance() const {
    std::map<std::string, int> counts;
    std::istringstream lines(read_file(calls()));
    Balance made;
    for (std::string key; std::getline(lines, key); ++made.calls) {
      const int count = ++counts[key];
      if (count == 2) ++made.twice;
    }
    made.keys = counts.size();
    return made;
  }
  std::string config() const { return folder_.file("semel.yaml"); }
  void publish(std::size_t first, std::size_t last) const {
    std::vector<std::string> bodies;
    for (std::size_t i = first; i < last; ++i) {
      bodies.push_back(payment(fmt::format("p-{}", i), 1, 1));
    }
    broker_.publish_bodies(queue_, bodies);
  }
  Ran run_to_end() const { return run({"run", "--once", "-o", "json", "-q", "-c", config()}); }

  const RabbitmqServer& broker_ = RabbitmqServer::shared();
  const RedisServer& redis_ = RedisServer::shared();
  const std::string queue_;
  TempDir folder_;
};

TEST_F(RabbitmqRedis, EachIsCalledAndOnlyWhatWasInFlightAtAKillTwice) {
  const std::size_t kills = soak_times(4);
  const std::size_t count = 60 * (kills + 1);
  publish(0, count);
  for (std::size_t i = 0; i < kills; ++i) {
    Program runner({"run", "-q", config()});
    const std::size_t next = count * (i + 1) / (kills + 1);
    ASSERT_TRUE(comes_true([&] { return balance().keys >= next; }, seconds(60)))
        << "kill " << i << '\n'
        << runner.err();
    runner.signal(SIGKILL);
    EXPECT_EQ(runner.wait().signal, SIGKILL);
  }
  // The last one's messages in hand may be put back a little later.
  Program last({"run", "-q", config()});
  EXPECT_TRUE(comes_true([&] { return broker_.messages(queue_) == 0; }, seconds(60))) << last.err();
  last.signal(SIGTERM);
  EXPECT_EQ(last.wait().code, 0) << last.err();
  const Ran rest = run_to_end();
  EXPECT_EQ(rest.code, 0) << rest.err;
  const auto first = balance();
  EXPECT_EQ(first.keys, count) << "none is lost";
  std::printf("%zu calls of %zu keys, %zu of them twice by %zu kills\n", first.calls, first.keys,
              first.twice, kills);
  // A run may be killed while commands work, and before it has recorded what others have done.
  constexpr std::size_t kInItsHands = 2 * 8;
  EXPECT_LE(first.twice, kills * kInItsHands);
  publish(0, count);
  const Ran again = run_to_end();
  EXPECT_EQ(json_at(again.out, "/duplicates"), std::to_string(count)) << again.out << again.err;
  EXPECT_EQ(balance().calls, first.calls) << "all sent again: nothing is called";
}

}  // namespace
}  // namespace semel::test
