// What the store refuses, and says.
#include <fmt/format.h>

#include <semel/gates.h>
#include <semel/held_messages.h>
#include <semel/live_checks.h>
#include <semel/records.h>
#include <semel/run_markers.h>

#include "stores/redis/test_place.h"

namespace semel::redis {
namespace {

using test::RedisServer;

TEST(RedisRefusals, AServerThatEvicts) {
  const RedisServer evicting({.arguments = {"--maxmemory", "64mb", "--maxmemory-policy",
                                            "allkeys-lru", "--appendfsync", "no"}});
  RedisOptions options;
  options.url = evicting.url();
  const Error error = error_of_opening(options);
  EXPECT_EQ(error.code, "R265") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
  EXPECT_NE(error.message.find("allkeys-lru"), std::string::npos);
  options.accept_eviction = true;
  const auto accepted = open_redis(options);
  ASSERT_TRUE(accepted.has_value());
  EXPECT_TRUE((*accepted)->traits().forgets);
  evicting.query("CONFIG SET maxmemory-policy noeviction");
  options.accept_eviction = false;
  EXPECT_TRUE(open_redis(options).has_value());
}

TEST(RedisRefusals, AFullServerHandlesNothingAndLosesNothing) {
  const RedisServer small({.arguments = {"--appendfsync", "no"}});
  TestPlace place(small);
  const Message m = place.message("k");
  const Lease lease = place.acquire(m);
  small.query("CONFIG SET maxmemory 1");
  const auto claim = place.try_claim(place.message("other"));
  ASSERT_FALSE(claim.has_value());
  EXPECT_EQ(claim.error().code, "R261") << claim.error().message;
  EXPECT_EQ(claim.error().kind, ErrorKind::kUnavailable);
  const auto finished = place.finish(test::completed(lease));
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().code, "R261");
  small.query("CONFIG SET maxmemory 0");
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kYes);
}

TEST(RedisRefusals, AReplica) {
  const RedisServer master(RedisServer::fast());
  const RedisServer replica(
      {.arguments = {"--replicaof", fmt::format("127.0.0.1 {}", master.port()), "--appendfsync",
                     "no"}});
  RedisOptions options;
  options.url = replica.url();
  EXPECT_EQ(error_of_opening(options).code, "R203");
  // One that becomes it while it is in use.
  TestPlace place(master);
  master.query(fmt::format("REPLICAOF 127.0.0.1 {}", replica.port()));
  const auto claim = place.try_claim(place.message("k"));
  ASSERT_FALSE(claim.has_value());
  EXPECT_EQ(claim.error().code, "R203") << claim.error().message;
  EXPECT_EQ(claim.error().kind, ErrorKind::kUnavailable);
}

TEST(RedisRefusals, TooFewReplicas) {
  const RedisServer lonely({.arguments = {"--min-replicas-to-write", "1", "--appendfsync", "no"}});
  RedisOptions options;
  options.url = lonely.url();
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value());
  const auto number = (*store)->attach({"payments", "r", false, {}});
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().code, "R262") << number.error().message;
}

TEST(RedisRefusals, ANodeOfACluster) {
  const RedisServer node({.arguments = {"--cluster-enabled", "yes", "--appendfsync", "no",
                                        "--cluster-port", std::to_string(test::free_port())}});
  RedisOptions options;
  options.url = node.url();
  EXPECT_EQ(error_of_opening(options).code, "R264");
}

TEST(RedisRefusals, ARightThatIsMissing) {
  const RedisServer locked({.arguments = {"--user", "worker", "on", ">hers", "~semel:*", "+@all",
                                          "-evalsha", "--appendfsync", "no"}});
  RedisOptions options;
  options.url = fmt::format("redis://worker:hers@127.0.0.1:{}", locked.port());
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto number = (*store)->attach({"payments", "r", false, {}});
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().code, "R253") << number.error().message;
}

// The rights that docs/stores/redis.md lists, to work and to operate.
TEST(RedisRefusals, TheRightsThatAreAskedForAreEnough) {
  const RedisServer locked(
      {.arguments = {
           "--user",       "worker",       "on",          ">hers",         "~semel:*",
           "-@all",        "+@read",       "+@write",     "-@dangerous",   "+evalsha",
           "+script|load", "+time",        "+select",     "+info",         "+client|setname",
           "+client|id",   "+client|list", "+config|get", "--appendfsync", "no"}});
  RedisOptions options;
  options.url = fmt::format("redis://worker:hers@127.0.0.1:{}", locked.port());
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto number = (*store)->attach({"payments", "r", false, 1h});
  ASSERT_TRUE(number.has_value()) << number.error().message;
  const Message m = test::make_message(*number, "k");
  const Message* one = &m;
  const auto end_as = [&](const std::function<Finish(const Lease&)>& how) {
    const auto claims = (*store)->claim({&one, 1}, {});
    ASSERT_TRUE(claims.has_value()) << claims.error().message;
    const Lease lease = std::get<Acquired>(claims->front()).lease;
    ASSERT_TRUE((*store)->renew({&lease, 1}, 60s).has_value());
    const Finish finish = how(lease);
    const auto finished = (*store)->finish({&finish, 1});
    ASSERT_TRUE(finished.has_value()) << finished.error().message;
  };
  end_as([](const Lease& lease) { return test::not_started(lease); });
  end_as([&](const Lease& lease) { return test::dead(lease, &m); });
  const StoreFacets facets = (*store)->facets();
  EXPECT_TRUE(facets.records->unlock(m.key().id).value());
  EXPECT_EQ(facets.held->take(*number, 10, 1 << 20, 1s)->size(), 1U);
  end_as([](const Lease& lease) { return test::completed(lease); });
  EXPECT_TRUE(facets.positions->save(*number, "a", "1").has_value());
  EXPECT_EQ(facets.positions->load(*number, "a").value(), "1");
  EXPECT_TRUE(facets.positions->reserve(*number, "a").has_value());
  EXPECT_TRUE(facets.gates->shut(*number, "why", 1s).has_value());
  EXPECT_TRUE(facets.gates->resume(*number).value());
  EXPECT_EQ(facets.live->settings()->back().value, "no");
  EXPECT_TRUE(facets.records->show(m.key().id).value().has_value());
  EXPECT_TRUE(facets.records->list({}, {}, 10).has_value());
  EXPECT_TRUE(facets.records->stats().has_value());
  const auto verified = facets.records->verify(true);
  EXPECT_TRUE(verified.has_value()) << (verified ? "" : verified.error().message);
  EXPECT_TRUE(facets.records->forget(m.key().id).value());
}

TEST(RedisRefusals, SomethingElseUnderARecordsName) {
  TestPlace place(shared());
  const Message list = place.message("list");
  const Message text = place.message("text");
  const Message newer = place.message("newer");
  const Message fine = place.message("fine");
  place.server().run({"LPUSH", place.name(list), "x"});
  place.server().run({"SET", place.name(text), "x"});
  place.server().run({"SET", place.name(newer), "\x02"});
  EXPECT_EQ(place.try_claim(list).error().code, "R263");
  EXPECT_EQ(place.try_claim(text).error().code, "R202");
  EXPECT_EQ(place.try_claim(newer).error().code, "R210");
  const Message* both[] = {&fine, &list};
  EXPECT_EQ(place.store().claim(both, {}).error().code, "R263");
  EXPECT_EQ(place.server().run({"EXISTS", place.name(fine)}), "0") << "nothing was claimed";
}

TEST(RedisRefusals, ABraceInThePrefix) {
  RedisOptions options;
  options.url = shared().url();
  options.prefix = "{all}:";
  EXPECT_EQ(error_of_opening(options).kind, ErrorKind::kRejected);
}

TEST(RedisTraits, TellWhetherTheServerKeepsALog) {
  TestPlace place(shared());
  EXPECT_TRUE(place.store().traits().durable);
  EXPECT_FALSE(place.store().traits().forgets);
  const RedisServer unlogged({.arguments = {"--appendonly", "no"}});
  RedisOptions options;
  options.url = unlogged.url();
  EXPECT_FALSE((*open_redis(options))->traits().durable);
}

}  // namespace
}  // namespace semel::redis
