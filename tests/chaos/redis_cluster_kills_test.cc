// The rows of a Redis Cluster in the fault table: a master is killed and its replica takes over,
// slots move under load, a replica without the last writes takes over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <semel/admin/records.h>
#include <semel/redis.h>

#include "stores/redis/names.h"
#include "tests/chaos/redis_database.h"
#include "tests/chaos/redis_losses.h"
#include "tests/chaos/test_bed.h"
#include "tests/chaos/work.h"
#include "tests/support/builders.h"
#include "tests/support/ledger.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kNodeTimeoutMs = 1'500;

// The same, and the nodes agree on the data they keep.
std::size_t expect_none_lost_on_nodes(Work& work, const Ledger& ledger) {
  const std::size_t doubled = expect_none_lost(work.bed(), ledger, work.sent());
  const auto store = work.bed().database().open();
  const auto findings = store->facets().records->verify(true);
  EXPECT_TRUE(findings.has_value());
  for (const auto& finding : findings.value()) {
    ADD_FAILURE() << finding.what << " " << finding.where << ": " << finding.detail;
  }
  return doubled;
}

std::vector<std::string> settings(const TempDir& folder, int replicas) {
  return {"strategy=state_machine", "handler=plain", "ledger=" + folder.file("ledger"),
          fmt::format("replicas={}", replicas)};
}

// The sum over all nodes of this counter in INFO errorstats.
std::size_t errors_of(const RedisCluster& cluster, const std::string& name) {
  std::istringstream lines(cluster.run_everywhere({"INFO", "errorstats"}));
  const std::string begins = "errorstat_" + name + ":count=";
  std::size_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begins)) sum += std::stoul(line.substr(begins.size()));
  }
  return sum;
}

// Writes that a replica confirmed are not lost with the master.
TEST(RedisClusterKills, NothingIsLostWhereAReplicaTakesOver) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = rounds(2);
  RedisCluster cluster(kNodeTimeoutMs);
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  Work work(make_cluster_database(cluster, 1), settings(folder, 1), 2);
  const auto calls = [&] { return ledger.balance().keys; };
  for (std::size_t i = 0; i < kills; ++i) {
    const std::size_t before = calls();
    work.send(200);
    ASSERT_TRUE(work.goes_on(calls, before)) << "kill " << i;
    std::this_thread::sleep_for(milliseconds(random.below(30)));
    const auto masters = cluster.masters();
    const int killed = masters[random.below(masters.size())];
    const std::string name = "{" + cluster.tag_at(killed) + "}";
    cluster.node_at(killed).kill();
    cluster.wait_for_another_master(name, killed);
    cluster.node_at(killed).start();
    cluster.wait_until_whole();
  }
  work.finish();
  const std::size_t doubled = expect_none_lost_on_nodes(work, ledger);
  fmt::print("{} masters killed: of {} effects {} came twice\n", kills, work.sent(), doubled);
}

TEST(RedisClusterKills, SlotsMoveUnderLoadAndNothingComesTwice) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t moves = 24 * soak_factor();
  RedisCluster cluster(RedisCluster::kCalmTimeoutMs);
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  auto database = make_cluster_database(cluster);
  const std::string place = database->place();
  const std::string prefix = place.substr(place.find(' ') + 1);
  auto patient = settings(folder, 0);
  // Longer than a busy machine keeps a process from renewing it: nothing is to be taken over.
  patient.emplace_back("lease=60s");
  Work work(std::move(database), patient, 2);
  const auto calls = [&] { return ledger.balance().keys; };
  std::string rows = cluster.run_everywhere({"KEYS", prefix + "{h*}last"});
  rows.erase(std::remove(rows.begin(), rows.end(), '\n'), rows.end());
  ASSERT_TRUE(rows.starts_with(prefix)) << rows;
  const std::vector<std::string> records = redis::Names(prefix, true).tokens();
  for (std::size_t i = 0; i < moves; ++i) {
    const std::size_t before = calls();
    work.send(60);
    ASSERT_TRUE(work.goes_on(calls, before)) << "move " << i;
    std::string name = records[random.below(records.size())];
    if (i % 6 == 1) name = rows;
    if (i % 6 == 4) name = prefix + "{store}";
    const auto masters = cluster.masters();
    const int from = cluster.master_of(name);
    int to = from;
    while (to == from) to = masters[random.below(masters.size())];
    cluster.begin_move(name, to);
    std::this_thread::sleep_for(milliseconds(random.below(40)));
    cluster.move_names(name, to);
    std::this_thread::sleep_for(milliseconds(random.below(10)));
    cluster.end_move(name, to);
  }
  // A worker that is asked to end may die, and then repeat the messages in progress.
  ASSERT_TRUE(work.goes_on([&] { return work.bed().completed(); }, work.sent() - 1));
  work.finish();
  EXPECT_EQ(expect_none_lost_on_nodes(work, ledger), 0U) << "nobody was killed";
  const std::size_t asked = errors_of(cluster, "ASK"), moved = errors_of(cluster, "MOVED");
  EXPECT_GE(asked, 1U) << "no slot was met in between two nodes";
  EXPECT_GE(moved, 1U) << "no slot was met at another node";
  fmt::print("{} slots moved under {} keys: {} ASK, {} MOVED, {} TRYAGAIN\n", moves, work.sent(),
             asked, moved, errors_of(cluster, "TRYAGAIN"));
}

// A replica without its master's last writes takes over.
class RedisFailover : public testing::Test {
 protected:
  std::unique_ptr<Store> open() {
    RedisOptions options;
    options.url = cluster_.url();
    options.prefix = prefix_;
    auto store = open_redis(std::move(options));
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    consumer_ = store.value()->attach({"payments", "recipe", false, {}}).value();
    return std::move(store).value();
  }
  // The next message whose record belongs to that node.
  Message message_at(int master) {
    for (;;) {
      Message message = make_message(consumer_, fmt::format("k{}", next_++));
      const std::string name = redis::Names(prefix_, true).record(message.key().id);
      if (cluster_.master_of(name) == master) return message;
    }
  }
  static Result<Claim> claim(Store& store, const Message& message, milliseconds lease) {
    const Message* one = &message;
    auto claims = store.claim({&one, 1}, {lease, {}, false});
    if (!claims) return failure(claims.error());
    return claims->front();
  }
  static Lease acquired(Store& store, const Message& message, milliseconds lease) {
    const auto claimed = claim(store, message, lease);
    EXPECT_TRUE(claimed && std::holds_alternative<Acquired>(*claimed))
        << (claimed ? "not acquired" : claimed.error().message);
    if (!claimed || !std::holds_alternative<Acquired>(*claimed)) return {};
    return std::get<Acquired>(*claimed).lease;
  }
  // Acquires it as soon as the previous lease is over.
  static Lease acquired_at_last(Store& store, const Message& message) {
    Lease lease;
    EXPECT_TRUE(comes_true([&] {
      const auto claimed = claim(store, message, seconds(60));
      const auto* acquired = claimed ? std::get_if<Acquired>(&*claimed) : nullptr;
      if (acquired != nullptr) lease = acquired->lease;
      return acquired != nullptr;
    })) << "never acquired";
    return lease;
  }
  // From here on the replica receives nothing from its master.
  void cut_off(int master) {
    cluster_.run_at(master, {"ACL", "SETUSER", "default", "-psync", "-sync"});
    cluster_.run_at(master, {"CLIENT", "KILL", "TYPE", "replica"});
  }
  void fail_over(int master, int replica, const std::string& name) {
    cluster_.node_at(master).kill();
    cluster_.run_at(replica, {"CLUSTER", "FAILOVER", "TAKEOVER"});
    cluster_.wait_for_another_master(name, master);
  }

  // Failovers happen only by fail_over().
  RedisCluster cluster_{RedisCluster::kCalmTimeoutMs};
  const std::string prefix_ = cluster_.new_prefix();
  ConsumerNumber consumer_{};
  int next_ = 0;
};

TEST_F(RedisFailover, WhatWasLostIsHandledAgainUnderGreaterTokensAndALateHolderIsRefused) {
  const auto first = open();
  const int master = cluster_.masters().front();
  const std::string name = "{" + cluster_.tag_at(master) + "}";
  const int replica = cluster_.replica_of(master);
  ASSERT_NE(replica, 0);
  const Message completed = message_at(master), vanished = message_at(master);
  const Lease kept = acquired(*first, completed, milliseconds(500));
  cluster_.wait_for_replica(master);
  cut_off(master);
  const Finish finish = test::completed(kept);
  ASSERT_EQ(first->finish({&finish, 1}).value().front(), Applied::kYes);
  const Lease late = acquired(*first, vanished, seconds(60));
  ASSERT_NO_FATAL_FAILURE(fail_over(master, replica, name));

  const Finish end = test::completed(late);
  const auto refused = first->finish({&end, 1});
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  EXPECT_EQ(refused->front(), Applied::kLeaseLost) << "its record is gone";
  // Another process, which has seen none of the tokens.
  const auto second = open();
  const Lease again = acquired(*second, vanished, seconds(60));
  EXPECT_GT(again.token, late.token) << "the claim vanished: another has it, under a greater token";
  const Lease repeated = acquired_at_last(*second, completed);
  EXPECT_GT(repeated.token, kept.token) << "its end vanished: it is handled again";
  EXPECT_NE(repeated.token, again.token);
  // The old master returns as a replica, and its data are not used.
  cluster_.node_at(master).start();
  cluster_.wait_until_whole();
  EXPECT_EQ(second->finish({&end, 1}).value().front(), Applied::kLeaseLost);
}

// If a replica must confirm, such a write is refused: nothing that was answered is lost.
TEST_F(RedisFailover, WhatWasConfirmedIsNotLost) {
  const auto plain = open();
  RedisOptions options;
  options.url = cluster_.url() + "?timeout=2";
  options.prefix = prefix_;
  options.wait_replicas = 1;
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const int master = cluster_.masters().front();
  const std::string name = "{" + cluster_.tag_at(master) + "}";
  const int replica = cluster_.replica_of(master);
  // A replica that stalls longer than the wait leaves a write in doubt: then try the next message.
  Message done = message_at(master);
  ASSERT_TRUE(comes_true([&] {
    done = message_at(master);
    const Finish finish = test::completed(acquired(*plain, done, seconds(60)));
    const auto applied = (*store)->finish({&finish, 1});
    EXPECT_TRUE(applied || applied.error().code == "R268") << applied.error().message;
    return applied && applied->front() == Applied::kYes;
  }));
  const Lease lease = acquired(*plain, message_at(master), seconds(60));
  cut_off(master);
  const Finish end = test::completed(lease);
  const auto ended = (*store)->finish({&end, 1});
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, "R268") << ended.error().message;
  EXPECT_EQ(ended.error().kind, ErrorKind::kInDoubt);
  ASSERT_NO_FATAL_FAILURE(fail_over(master, replica, name));
  const auto second = open();
  const auto known = claim(*second, done, seconds(60));
  ASSERT_TRUE(known.has_value()) << known.error().message;
  EXPECT_TRUE(std::holds_alternative<Completed>(*known));
}

}  // namespace
}  // namespace semel::test
