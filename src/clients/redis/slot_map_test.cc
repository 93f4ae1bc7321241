#include "clients/redis/slot_map.h"

#include "clients/redis/test_client.h"
#include "tests/support/redis_cluster.h"

namespace semel::redis {
namespace {

Reply number(std::int64_t value) {
  Reply reply;
  reply.kind = Reply::Kind::kNumber;
  reply.number = value;
  return reply;
}

Reply text(const char* value) {
  Reply reply;
  reply.kind = Reply::Kind::kBytes;
  reply.bytes = value;
  return reply;
}

Reply list(std::vector<Reply> parts) {
  Reply reply;
  reply.kind = Reply::Kind::kList;
  reply.list = std::move(parts);
  return reply;
}

TEST(SlotMap, ATagIsWhatStandsInTheFirstBraces) {
  EXPECT_EQ(hash_tag("semel:{3f}x"), "3f");
  EXPECT_EQ(hash_tag("semel:{3f}{4e}"), "3f");
  EXPECT_EQ(hash_tag("{}a"), "{}a") << "nothing in between: all of it";
  EXPECT_EQ(hash_tag("a{b"), "a{b");
  EXPECT_EQ(hash_tag("a}b{c}"), "c");
  EXPECT_EQ(hash_tag(""), "");
}

TEST(SlotMap, SlotsAreThoseOfTheServer) {
  EXPECT_EQ(cluster_slot("123456789"), 0x31C3) << "the vector that the CRC is known by";
  const auto& cluster = test::RedisCluster::shared();
  for (const char* name : {"a", "semel:{3f}x", "semel:{store}letters", "{}b", "x{y", "{h5}3.m"}) {
    const std::string told = cluster.run_at(cluster.address().port, {"CLUSTER", "KEYSLOT", name});
    EXPECT_EQ(std::to_string(cluster_slot(name)), told) << name;
  }
}

TEST(SlotMap, AMapSaysWhoHasWhat) {
  const Reply told = list({list({number(0), number(99), list({text("10.0.0.1"), number(7001)})}),
                           list({number(200), number(300), list({text(""), number(7002)}),
                                 list({text("10.0.0.9"), number(7009)})})});
  SlotMap map = SlotMap::read(told, "host.asked");
  ASSERT_NE(map.owner(0), nullptr);
  EXPECT_EQ(*map.owner(99), (Endpoint{"10.0.0.1", 7001}));
  EXPECT_EQ(map.owner(100), nullptr) << "nobody has it";
  EXPECT_EQ(*map.owner(200), (Endpoint{"host.asked", 7002})) << "a node that names no host";
  EXPECT_EQ(map.masters().size(), 2U) << "replicas are none";
  map.moved(99, {"10.0.0.3", 7003});
  EXPECT_EQ(*map.owner(99), (Endpoint{"10.0.0.3", 7003}));
  EXPECT_EQ(*map.owner(98), (Endpoint{"10.0.0.1", 7001}));
}

TEST(SlotMap, WhatIsNoMapIsRefused) {
  for (const Reply& told :
       {text("OK"), list({number(1)}), list({list({number(5), number(3), list({})})}),
        list({list({number(0), number(16'384), list({text("h"), number(1)})})})}) {
    EXPECT_EQ(error_from([&] { SlotMap::read(told, "h"); }).code, "R200");
  }
}

TEST(SlotMap, PlacesAreReadAsServersWriteThem) {
  EXPECT_EQ(parse_endpoint("127.0.0.1:7001", "h"), (Endpoint{"127.0.0.1", 7001}));
  EXPECT_EQ(parse_endpoint(":7001", "h"), (Endpoint{"h", 7001}));
  EXPECT_EQ(parse_endpoint("?:7001", "h"), (Endpoint{"h", 7001}));
  EXPECT_EQ(parse_endpoint("::1:7001", "h"), (Endpoint{"::1", 7001}));
  EXPECT_EQ(parse_endpoint("[::1]:7001", "h"), (Endpoint{"::1", 7001}));
  EXPECT_EQ(parse_endpoint("nothing", "h").port, 0U);
}

}  // namespace
}  // namespace semel::redis
