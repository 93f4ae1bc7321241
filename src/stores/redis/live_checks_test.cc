// The settings of a live server, and those that it does not report.
#include "stores/redis/live_checks.h"

#include <fmt/format.h>
#include <semel/spi/live_checks.h>

#include <algorithm>

#include "stores/redis/test_place.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/waiting.h"

namespace semel::redis {
namespace {

using test::RedisServer;

// As "name = value", followed by "!" where it carries a risk.
std::vector<std::string> told_by(RedisOptions options) {
  const auto store = open_redis(std::move(options));
  EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
  if (!store) return {};
  const auto settings = (*store)->facets().live->settings();
  EXPECT_TRUE(settings.has_value()) << (settings ? "" : settings.error().message);
  std::vector<std::string> lines;
  for (const LiveSetting& one : settings.value_or(std::vector<LiveSetting>())) {
    lines.push_back(fmt::format("{} = {}{}", one.name, one.value, one.risk.empty() ? "" : " !"));
    EXPECT_EQ(one.risk.empty(), one.fix.empty()) << one.name;
  }
  return lines;
}

std::vector<std::string> told_by(const RedisServer& server) {
  RedisOptions options;
  options.url = server.url();
  return told_by(options);
}

using Lines = std::vector<std::string>;

TEST(RedisLiveChecks, TellWhatACrashTakes) {
  const RedisServer server;
  const std::string policy = "maxmemory-policy = noeviction";
  EXPECT_EQ(told_by(server), (Lines{policy, "appendonly = yes", "appendfsync = always"}));
  server.query("CONFIG SET appendfsync everysec");
  EXPECT_EQ(told_by(server), (Lines{policy, "appendonly = yes", "appendfsync = everysec !"}));
  server.query("CONFIG SET appendfsync no");
  EXPECT_EQ(told_by(server), (Lines{policy, "appendonly = yes", "appendfsync = no !"}));
  server.query("CONFIG SET appendonly no");
  EXPECT_EQ(told_by(server), (Lines{policy, "appendonly = no !"}));
}

TEST(RedisLiveChecks, TellOfEvictionThatWasAccepted) {
  const RedisServer server({.arguments = {"--maxmemory-policy", "allkeys-lru"}});
  EXPECT_EQ(told_by(server).at(0), "maxmemory-policy = allkeys-lru") << "without a maxmemory";
  server.query("CONFIG SET maxmemory 64mb");
  RedisOptions options;
  options.url = server.url();
  options.accept_eviction = true;
  EXPECT_EQ(told_by(options).at(0), "maxmemory-policy = allkeys-lru !");
}

// A hidden fault until one takes over.
TEST(RedisLiveChecks, TellOfAReplicaThatWouldEvict) {
  const test::RedisCluster cluster(test::RedisCluster::kCalmTimeoutMs);
  RedisOptions options;
  options.url = cluster.url();
  const auto of_replicas = [&] {
    Lines lines = told_by(options);
    std::erase_if(lines, [](const std::string& line) {
      return line.find(" of the replica ") == std::string::npos;
    });
    return lines;
  };
  const int master = cluster.masters().front(), replica = cluster.replica_of(master);
  // A node without slots is not listed.
  cluster.run({"SET", "{" + cluster.tag_at(master) + "}", "1"});
  EXPECT_EQ(of_replicas(), Lines{});
  cluster.run_at(replica, {"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  cluster.run_at(replica, {"CONFIG", "SET", "maxmemory", "64mb"});
  const Lines evicts = {
      fmt::format("maxmemory-policy of the replica 127.0.0.1:{} = allkeys-lru !", replica)};
  EXPECT_TRUE(test::comes_true([&] { return of_replicas() == evicts; }));
}

TEST(RedisLiveChecks, WhatMayNotBeAskedIsNotKnownAndNotFine) {
  const RedisServer server(
      {.arguments = {"--user", "worker", "on", ">hers", "~semel:*", "+@all", "-config"}});
  RedisOptions options;
  options.url = fmt::format("redis://worker:hers@127.0.0.1:{}", server.port());
  const Lines told = told_by(options);
  EXPECT_EQ(told.back(), "appendfsync = not known !");
}

TEST(RedisLiveChecks, TellOfReplicasThatNobodyWaitsFor) {
  const RedisServer master;
  const RedisServer replica(
      {.arguments = {"--replicaof", fmt::format("127.0.0.1 {}", master.port())}});
  const auto follows = [&] {
    return master.query("INFO replication").find("state=online") != std::string::npos;
  };
  ASSERT_TRUE(test::comes_true(follows));
  EXPECT_EQ(told_by(master).back(), "min-replicas-to-write = 0 !");
  master.query("CONFIG SET min-replicas-to-write 1");
  EXPECT_EQ(told_by(master).back(), "min-replicas-to-write = 1");
}

}  // namespace
}  // namespace semel::redis
