// Members of the group are killed, added and stopped, and the broker is killed, while payments
// come. In the end each has had its effect once, and all of them coming again changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/kafka_test_bed.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

// A member that dies is missed soon.
std::string short_session(DatabaseKind database_kind) {
  return fmt::format(
      "session.timeout.ms: 1500, heartbeat.interval.ms: 300, partition.assignment.strategy: {}",
      database_kind == DatabaseKind::kSqlite ? "range" : "cooperative-sticky");
}

class KafkaKills : public ::testing::Test {
 protected:
  static std::unique_ptr<Program> start(const KafkaTestBed& bed) {
    return std::make_unique<Program>(Words{"run", bed.config(), "-q"});
  }
  // All that was produced is done, and the members are sent home.
  static void finish(KafkaTestBed& bed, std::vector<std::unique_ptr<Program>>& members) {
    EXPECT_TRUE(comes_true([&] { return bed.sum() == bed.produced_sum(); }, seconds(90)))
        << bed.sum() << " of " << bed.produced_sum();
    // Redelivered messages are settled too, and reported.
    EXPECT_TRUE(comes_true([&] { return bed.all_committed(); }, seconds(60)));
    for (auto& member : members) member->signal(SIGTERM);
    for (auto& member : members) {
      const Ran ran = member->wait();
      EXPECT_EQ(ran.code, 0) << ran.err;
    }
    bed.expect_each_once();
    bed.expect_nothing_happens_again();
  }
};

class KafkaMembers : public KafkaKills, public ::testing::WithParamInterface<DatabaseKind> {};

TEST_P(KafkaMembers, AreKilledAndAdded) {
  KafkaTestBed bed(GetParam(), KafkaServer::shared(),
                   {.partitions = 6, .properties = short_session(GetParam())});
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  bed.produce(300);
  std::vector<std::unique_ptr<Program>> members;
  for (int i = 0; i < 3; ++i) members.push_back(start(bed));
  const std::size_t kills = soak_times(10);
  std::size_t killed = 0;
  for (std::size_t i = 0; i < kills; ++i) {
    const auto before = bed.sum();
    bed.produce(300);
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60))) << "kill " << i;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    auto& victim = members[random() % members.size()];
    // One in three goes in good order: a rebalance of another kind.
    victim->signal(i % 3 == 2 ? SIGTERM : SIGKILL);
    const Ran ran = victim->wait();
    if (ran.signal == SIGKILL) ++killed;
    // One that has just begun does not hear SIGTERM yet: it dies of it.
    EXPECT_TRUE(ran.signal != 0 || ran.code == 0) << ran.err;
    victim = start(bed);
  }
  EXPECT_GE(killed, kills / 2);
  finish(bed, members);
}

TEST_P(KafkaMembers, OneStandsStillPastItsSession) {
  KafkaTestBed bed(GetParam(), KafkaServer::shared(),
                   {.partitions = 4, .properties = short_session(GetParam())});
  bed.produce(300);
  std::vector<std::unique_ptr<Program>> members;
  for (int i = 0; i < 2; ++i) members.push_back(start(bed));
  const auto are_members = [&](int count) {
    return comes_true([&] { return bed.server().members(bed.group()) == count; });
  };
  for (std::size_t i = 0; i < soak_times(2); ++i) {
    ASSERT_TRUE(are_members(2));
    bed.produce(1'000);
    auto& frozen = members[i % members.size()];
    frozen->signal(SIGSTOP);
    EXPECT_TRUE(are_members(1)) << "the group does not miss it";
    frozen->signal(SIGCONT);
    bed.produce(300);
  }
  finish(bed, members);
}

// The promise of docs/sources/kafka.md, in one run: a config of some twenty lines, a topic of which
// each tenth message stands there twice, and one process that is killed and started again.
TEST_F(KafkaKills, ATopicIsReadByAProcessThatIsKilledAgainAndAgain) {
  const bool soak = soaks();
  const std::size_t messages = soak ? 1'000'000 : 20'000;
  const std::size_t kills = soak ? 20 : 4;
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(),
                   {.partitions = 6,
                    .properties = short_session(DatabaseKind::kSqlite) + ", group.instance.id: one",
                    .copied = 10});
  EXPECT_LE(bed.config_lines(), 25U);
  const std::size_t share = messages * 10 / 11 / kills;
  const auto done = [&] { return bed.number("SELECT COALESCE(max(place), 0) FROM effect"); };
  std::size_t in_mid_work = 0;
  // A kill that comes late finds no more done than its own share, and is made up for.
  std::size_t killed = 0;
  for (; in_mid_work < kills && killed < 5 * kills; ++killed) {
    bed.produce(share);
    const auto next = static_cast<std::int64_t>(bed.produced() - share / 2);
    auto runner = start(bed);
    ASSERT_TRUE(comes_true([&] { return done() >= next; })) << "kill " << killed;
    runner->signal(SIGKILL);
    EXPECT_EQ(runner->wait().signal, SIGKILL);
    if (done() < static_cast<std::int64_t>(bed.produced())) ++in_mid_work;
  }
  EXPECT_EQ(in_mid_work, kills) << "the kills come too late";
  std::vector<std::unique_ptr<Program>> last;
  last.push_back(start(bed));
  finish(bed, last);
  std::printf(
      "%zu messages, %zu of them copies, %zu kills, %zu of them in mid-work: sum %lld of %lld, "
      "%lld effects; all read again: the same\n",
      bed.deliveries(), bed.deliveries() - bed.produced(), killed, in_mid_work,
      static_cast<long long>(bed.sum()), static_cast<long long>(bed.produced_sum()),
      static_cast<long long>(done()));
}

TEST_F(KafkaKills, TheBrokerIsKilled) {
  KafkaServer server;
  KafkaTestBed bed(DatabaseKind::kSqlite, server,
                   {.partitions = 4, .properties = short_session(DatabaseKind::kSqlite)});
  bed.produce(300);
  std::vector<std::unique_ptr<Program>> members;
  for (int i = 0; i < 2; ++i) members.push_back(start(bed));
  for (std::size_t i = 0; i < soak_times(3); ++i) {
    const auto before = bed.sum();
    bed.produce(1'000);
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60))) << "kill " << i;
    server.kill();
    server.start();
  }
  finish(bed, members);
}

INSTANTIATE_TEST_SUITE_P(Stores, KafkaMembers,
                         ::testing::Values(DatabaseKind::kSqlite, DatabaseKind::kPostgres),
                         [](const auto& info) { return name_of_ground(info.param); });

}  // namespace
}  // namespace semel::test
