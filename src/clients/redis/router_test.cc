// Tests that calls find their nodes on a real Cluster, also while a slot moves.
#include "clients/redis/router.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <thread>

#include "clients/redis/test_client.h"
#include "clients/redis/test_played_server.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/stopped_process.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::redis {
namespace {

using test::RedisCluster;

Router routed(const RedisCluster& cluster, const std::string& options = {}, Confirm confirm = {}) {
  return {target_of(cluster.url() + options), 2, true, confirm, *system_environment().random};
}

std::vector<Question> sets(const std::vector<std::string>& names, BytesView value) {
  std::vector<Question> questions;
  for (const std::string& name : names) questions.push_back({name, {"SET", name, value}});
  return questions;
}

std::vector<std::string> names(const std::string& prefix, int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(fmt::format("{}{{{}}}", prefix, i));
  return all;
}

TEST(RedisRouter, ABatchIsSplitByOwnerAndAnsweredInItsOrder) {
  const auto& cluster = RedisCluster::shared();
  Router router(routed(cluster));
  const auto all = names(cluster.new_prefix(), 300);
  EXPECT_EQ(router.masters().size(), 3U);
  for (const Reply& reply : router.ask_all(sets(all, "1"), Loss::kInDoubt)) {
    EXPECT_FALSE(reply.is_error()) << reply.bytes;
  }
  const Script told("return KEYS[1]");
  std::vector<Call> calls;
  for (const std::string& name : all) calls.push_back({{name}, {}, {}});
  const auto replies = router.run(told, calls, Loss::kNothingDone);
  ASSERT_EQ(replies.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(replies[i].bytes, all[i]);
}

TEST(RedisRouter, AScriptThatANodeHasForgottenIsSentWhole) {
  const auto& cluster = RedisCluster::shared();
  Router router(routed(cluster));
  const Script told(fmt::format("return '{}'", cluster.new_prefix()));
  const std::vector<Call> calls(3, Call{{"{a}"}, {}, {}});
  for (const Reply& reply : router.run(told, calls, Loss::kNothingDone)) {
    EXPECT_FALSE(reply.is_error()) << reply.bytes;
  }
}

class MovedSlot : public ::testing::Test {
 protected:
  MovedSlot() {
    for (const int port : cluster_.masters()) {
      if (port != from_) to_ = port;
    }
  }
  Reply set(const std::string& name, BytesView value) {
    return router_.ask({"SET", name, value}, Loss::kInDoubt);
  }
  Bytes get(const std::string& name) {
    return router_.ask({"GET", name}, Loss::kNothingDone).bytes;
  }

  RedisCluster cluster_{RedisCluster::kCalmTimeoutMs};
  const std::string there_ = "{moved}there", missing_ = "{moved}missing";
  const int from_ = cluster_.master_of(there_);
  int to_ = 0;
  Router router_{routed(cluster_, "?timeout=10")};
};

TEST_F(MovedSlot, IsFollowedInBetweenAndAfter) {
  set(there_, "1");
  cluster_.begin_move(there_, to_);
  set(missing_, "2");  // not there: the other node takes it (ASK)
  EXPECT_EQ(cluster_.run_at(from_, {"EXISTS", there_}), "1");
  EXPECT_EQ(get(there_), "1");
  EXPECT_EQ(get(missing_), "2");
  cluster_.move_names(there_, to_);
  EXPECT_EQ(get(there_), "1") << "moved, and the slot is not";
  cluster_.end_move(there_, to_);
  EXPECT_EQ(get(there_), "1");
  EXPECT_EQ(get(missing_), "2");
  EXPECT_EQ(cluster_.run_at(to_, {"EXISTS", missing_}), "1");
  EXPECT_EQ(endpoint_text(router_.owner(there_)->target), fmt::format("127.0.0.1:{}", to_));
}

// Answers which call of its command this one is.
Script counting() {
  return {"local calls = 0\n",
          "redis.call('INCR', keys[k + 1])\ncalls = calls + 1\nreturn calls\n",
          {.heads = 0, .plain = 1}};
}

std::vector<Call> calls_about(const std::vector<std::string>& names) {
  std::vector<Call> calls;
  for (const std::string& name : names) calls.push_back({{name}, {}, {}});
  return calls;
}

// How many of the calls shared a command with one before them.
std::size_t bundled(Router& router, const std::vector<std::string>& names) {
  std::size_t shared = 0;
  for (const Reply& reply : router.run(counting(), calls_about(names), Loss::kInDoubt)) {
    EXPECT_FALSE(reply.is_error()) << reply.bytes;
    if (reply.number > 1) ++shared;
  }
  return shared;
}

TEST_F(MovedSlot, ABundleLeavesOutWhatItsNodeHasNotAndDoesTheRest) {
  auto all = names("", 30);
  all.push_back(there_);
  Router late(routed(cluster_, "?timeout=10"));
  EXPECT_EQ(bundled(router_, all), all.size() - 3) << "one command for each master";
  EXPECT_EQ(bundled(late, all), all.size() - 3);
  cluster_.begin_move(there_, to_);
  all.push_back(missing_);
  EXPECT_GT(bundled(router_, all), 0U);
  EXPECT_EQ(get(missing_), "1") << "by the node that takes the slot";
  EXPECT_EQ(bundled(router_, all), 0U) << "each alone, while a slot moves";
  cluster_.move_names(there_, to_);
  cluster_.end_move(there_, to_);
  EXPECT_GT(bundled(late, all), 0U) << "by a map that is older than the move";
  for (const std::string& name : all) EXPECT_EQ(get(name), name == missing_ ? "3" : "5") << name;
}

// Half of the data that the script needs would be on the other node.
TEST_F(MovedSlot, WhatReachesBeyondItsKeysWaitsUntilItHasMoved) {
  set(there_, "1");
  const Script reaching("redis.call('SET', '{moved}beside', '1') return 'done'",
                        Script::Reach::kSlot);
  const Call call{{there_}, {}, {}};
  cluster_.begin_move(there_, to_);
  const auto refused = router_.run(reaching, {&call, 1}, Loss::kInDoubt);
  ASSERT_TRUE(refused.front().is_error());
  EXPECT_EQ(failure_of(refused.front()).error().code, "R250") << refused.front().bytes;
  EXPECT_EQ(cluster_.run_at(from_, {"EXISTS", there_}), "1");
  cluster_.move_names(there_, to_);
  cluster_.end_move(there_, to_);
  EXPECT_EQ(router_.run(reaching, {&call, 1}, Loss::kInDoubt).front().bytes, "done");
  EXPECT_EQ(cluster_.run_at(to_, {"EXISTS", "{moved}beside"}), "1");
}

TEST(RedisRouterConfirms, AWriteCountsWhenReplicasHaveIt) {
  const auto& cluster = RedisCluster::shared();
  const auto all = names(cluster.new_prefix(), 20);
  Router one(routed(cluster, {}, {1, milliseconds(60'000)}));
  EXPECT_EQ(one.ask_all(sets(all, "1"), Loss::kInDoubt).size(), all.size());
  EXPECT_EQ(cluster.run({"GET", name_beside(all.back(), "confirmed")}), "1");
  Router two(routed(cluster, {}, {2, milliseconds(50)}));
  const Error error = error_from([&] { two.ask_all(sets(all, "2"), Loss::kInDoubt); });
  EXPECT_EQ(error.code, "R268") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kInDoubt);
  EXPECT_EQ(cluster.run({"GET", all[0]}), "2") << "it was done";
  EXPECT_EQ(two.ask({"GET", all[0]}, Loss::kNothingDone).bytes, "2") << "who looks does not wait";
}

// The first node has carried out its part, whatever the second one answers.
TEST_F(MovedSlot, AnErrorOfASecondNodeDoesNotHideWhatTheFirstHasDone) {
  const std::string stays = "{" + cluster_.tag_at(from_) + "}stays";
  Router late(target_of(cluster_.url()), 0, true, {}, *system_environment().random);
  ASSERT_NE(late.owner(there_), nullptr) << "by a map that is older than the move";
  cluster_.begin_move(there_, to_);
  cluster_.end_move(there_, to_);
  cluster_.run_at(to_, {"ACL", "SETUSER", "default", "-info"});
  const Error error = error_from([&] { late.ask_all(sets({stays, there_}, "1"), Loss::kInDoubt); });
  EXPECT_EQ(error.code, "R253") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kInDoubt);
  EXPECT_EQ(get(stays), "1");
}

// A newer server waits only for the writes of the asking connection.
TEST(RedisRouterConfirms, WhatWritesNothingIsConfirmedWithAWriteOfItsOwn) {
  const auto& cluster = RedisCluster::shared();
  const std::string name = cluster.new_prefix() + "{a}record";
  const std::string beside = name.substr(0, name.find('}') + 1) + "confirmed";
  Router router(routed(cluster, {}, {1, milliseconds(60'000)}));
  const Script nothing("return 'done before'");
  const Call call{{name}, {}, {}};
  EXPECT_EQ(router.run(nothing, {&call, 1}, Loss::kNothingDone).front().bytes, "done before");
  EXPECT_EQ(cluster.run({"EXISTS", beside}), "0");
  EXPECT_EQ(router.run(nothing, {&call, 1}, Loss::kInDoubt).front().bytes, "done before");
  EXPECT_EQ(cluster.run({"GET", beside}), "1");
}

TEST_F(MovedSlot, WhatIsConfirmedIsConfirmedWhereTheSlotGoes) {
  Router router(routed(cluster_, "?timeout=10", {1, milliseconds(60'000)}));
  cluster_.begin_move(there_, to_);
  EXPECT_EQ(router.ask({"SET", missing_, "1"}, Loss::kInDoubt).bytes, "OK");
  cluster_.move_names(there_, to_);
  cluster_.end_move(there_, to_);
  EXPECT_EQ(cluster_.run_at(to_, {"GET", "{moved}confirmed"}), "1");
}

// The last task is sent on, and with it the write that was to be confirmed.
TEST_F(MovedSlot, WhatStaysIsConfirmedBesideWhatWasDone) {
  const std::string tag = "{" + cluster_.tag_at(from_) + "}";
  Router router(routed(cluster_, "?timeout=10", {1, milliseconds(60'000)}));
  cluster_.begin_move(there_, to_);
  for (const Reply& reply : router.ask_all(sets({tag + "stays", missing_}, "1"), Loss::kInDoubt)) {
    EXPECT_EQ(reply.bytes, "OK");
  }
  EXPECT_EQ(cluster_.run_at(from_, {"GET", tag + "confirmed"}), "1");
  cluster_.move_names(there_, to_);
  cluster_.end_move(there_, to_);
}

TEST(RedisRouterConfirms, WhereTheOwnWriteIsRefusedNothingIsConfirmed) {
  PlayedServer server({PlayedServer::welcome(), "+done\r\n", "-OOM no\r\n:1\r\n"});
  Router router(server.target(), 1, false, {1, milliseconds(100)}, *system_environment().random);
  const Script script("return 'done'");
  const Call call{{"k"}, {}, {}};
  const Error error = error_from([&] { router.run(script, {&call, 1}, Loss::kInDoubt); });
  EXPECT_EQ(error.code, "R268") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kInDoubt);
}

TEST(RedisRouterConfirms, WhatIsRefusedIsNotWaitedFor) {
  const Confirm confirm{1, milliseconds(100)};
  Router router(target_of(shared().url()), 1, false, confirm, *system_environment().random);
  const Script refused("return redis.error_reply('OOM no')");
  const Call call{{"k"}, {}, {}};
  const auto replies = router.run(refused, {&call, 1}, Loss::kInDoubt);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(failure_of(replies.front()).error().code, "R261");
}

// The replies are read, and the connection is gone when the rest is to be sent.
TEST(RedisRouterConfirms, WhatWasDoneBeforeALossIsInDoubt) {
  constexpr int kTimes = 30;
  for (int i = 0; i < kTimes; ++i) {
    PlayedServer server({PlayedServer::welcome(), "+done\r\n"});
    Router router(server.target(), 1, false, {1, milliseconds(100)}, *system_environment().random);
    const Script script("return 'done'");
    const Call call{{"k"}, {}, {}};
    const Error error = error_from([&] { router.run(script, {&call, 1}, Loss::kInDoubt); });
    ASSERT_EQ(error.kind, ErrorKind::kInDoubt) << error.message;
  }
}

TEST(RedisRouterConfirms, WhatASecondPassLosesIsInDoubt) {
  constexpr int kTimes = 30;
  for (int i = 0; i < kTimes; ++i) {
    PlayedServer server({PlayedServer::welcome(), "+done\r\n-NOSCRIPT no\r\n"});
    Connection connection(server.target());
    const Script script("return 'done'");
    const std::vector<Call> calls(2, Call{{"k"}, {}, {}});
    const Error error = error_from([&] { script.run(connection, calls, Loss::kInDoubt); });
    ASSERT_EQ(error.kind, ErrorKind::kInDoubt) << error.message;
  }
}

// The master is replaced, and clients that wait for it are not notified.
TEST(RedisRouterFailover, AMasterThatHangsIsLeftForTheOneThatTookOver) {
  constexpr int kNodeTimeoutMs = 1'500;
  RedisCluster cluster(kNodeTimeoutMs);
  for (const Loss loss : {Loss::kNothingDone, Loss::kInDoubt}) {
    // Finds a master by asking the first node.
    int hung = cluster.address().port;
    for (const int port : cluster.masters()) {
      if (port != cluster.address().port) hung = port;
    }
    const std::string name = "{" + cluster.tag_at(hung) + "}";
    Router router(routed(cluster, "?timeout=1&connect-timeout=1"));
    router.ask({"SET", name, "1"}, loss);
    cluster.wait_for_replica(hung);
    {
      const test::StoppedProcess stopped(cluster.node_at(hung).pid());
      ASSERT_TRUE(test::comes_true([&] {
        const int now = cluster.master_of(name);
        return now != 0 && now != hung;
      }));
      const Error error = error_from([&] { router.ask({"SET", name, "2"}, loss); });
      EXPECT_EQ(error.code, "R250") << error.message;
      EXPECT_EQ(router.ask({"GET", name}, Loss::kNothingDone).bytes, "1");
    }
    cluster.wait_until_whole();
  }
}

TEST(RedisRouterNodes, OnesThatWereLostAreAskedLast) {
  const auto node = [](int port) {
    return std::make_shared<Node>(target_of(fmt::format("redis://127.0.0.1:{}", port)), 1);
  };
  Masters nodes = {node(test::free_port()), node(shared().port())};
  const Masters before = nodes;
  EXPECT_EQ(error_from([&] { nodes[0]->pool.lend(); }).code, "R250");
  put_lost_last(nodes);
  EXPECT_EQ(nodes, (Masters{before[1], before[0]}));
  nodes[0]->pool.give_back(nodes[0]->pool.lend());
  put_lost_last(nodes);
  EXPECT_EQ(nodes, (Masters{before[1], before[0]}));
}

// Nodes of which each takes connections and answers nothing.
class SilentNodes : public ::testing::Test {
 protected:
  static constexpr int kSilent = 8;
  Target target(const std::string& further = {}, int connect_timeout = 1) const {
    std::string url = fmt::format("redis://127.0.0.1:{}", silent_.front().port);
    for (int i = 1; i < kSilent; ++i) url += fmt::format(",127.0.0.1:{}", silent_[i].port);
    return target_of(url + further + fmt::format("?connect-timeout={}", connect_timeout));
  }
  // Returns how many have come since the last call.
  int came() const {
    int count = 0;
    for (const test::OwnListener& one : silent_) {
      while (system::Descriptor(::accept(one.fd.get(), nullptr, nullptr)).valid()) ++count;
    }
    return count;
  }

 private:
  std::vector<test::OwnListener> silent_ = [] {
    std::vector<test::OwnListener> all;
    for (int i = 0; i < kSilent; ++i) all.push_back(test::own_listener(SOCK_NONBLOCK));
    return all;
  }();
};

TEST_F(SilentNodes, AreAllWaitedForAsLongAsOneAndByAllThreadsAtOnce) {
  constexpr int kThreads = 4;
  Nodes nodes(target(), 1, *system_environment().random);
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(error_from([&] { nodes.refresh(0); }).code, "R250"); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kSilent * 1s) << "one node after another";
}

TEST_F(SilentNodes, AreNotTriedAgainAtOnce) {
  Nodes nodes(target(), 1, *system_environment().random);
  EXPECT_EQ(error_from([&] { nodes.need_map(); }).code, "R250");
  const auto failed = std::chrono::steady_clock::now();
  EXPECT_GT(came(), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(error_from([&] { nodes.need_map(); }).code, "R250");
  const bool soon = std::chrono::steady_clock::now() - failed < 500ms;
  if (soon) {
    EXPECT_EQ(came(), 0);
  }
  EXPECT_EQ(error_from([&] { nodes.refresh(0); }).code, "R250");
  EXPECT_GT(came(), 0) << "one that a call needs now";
}

TEST_F(SilentNodes, DoNotHideTheOneThatAnswers) {
  const int port = RedisCluster::shared().address().port;
  Nodes nodes(target(fmt::format(",127.0.0.1:{}", port), 3), 1, *system_environment().random);
  nodes.need_map();
  EXPECT_EQ(nodes.version(), 1U);
}

// All nodes hang, as in a network partition: a call's wait does not grow with their number.
TEST(RedisRouterFailover, AClusterThatHangsAsAWholeIsWaitedForOnce) {
  constexpr int kThreads = 4;
  RedisCluster cluster(RedisCluster::kCalmTimeoutMs);
  Router router(routed(cluster, "?timeout=1&connect-timeout=1"));
  router.ask({"SET", "{a}", "1"}, Loss::kNothingDone);
  std::vector<int> all = cluster.masters();
  for (const int master : cluster.masters()) {
    cluster.wait_for_replica(master);
    all.push_back(cluster.replica_of(master));
  }
  {
    std::vector<std::unique_ptr<test::StoppedProcess>> stopped;
    for (const int port : all) {
      stopped.push_back(std::make_unique<test::StoppedProcess>(cluster.node_at(port).pid()));
    }
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int call = 0; call < 2; ++call) {
          const Error error = error_from([&] { router.ask({"GET", "{a}"}, Loss::kNothingDone); });
          EXPECT_EQ(error.code, "R250") << error.message;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
  }
  cluster.wait_until_whole();
  EXPECT_EQ(router.ask({"GET", "{a}"}, Loss::kNothingDone).bytes, "1");
}

TEST(RedisRouterNodes, TheLifeOfTheNodeThatIsAskedIsSaidToIt) {
  const auto& cluster = RedisCluster::shared();
  Router router(routed(cluster));
  const Script told("return ARGV[1]");
  for (const int port : cluster.masters()) {
    const Call call{{"{" + cluster.tag_at(port) + "}"}, {Bytes()}, 0};
    const Bytes life = router.run(told, {&call, 1}, Loss::kNothingDone).front().bytes;
    EXPECT_EQ(life, info_field(cluster.run_at(port, {"INFO", "server"}), "run_id"));
  }
}

}  // namespace
}  // namespace semel::redis
