#include "clients/redis/owner.h"

#include <gtest/gtest.h>

#include "clients/redis/test_client.h"
#include "tests/support/redis_cluster.h"

namespace semel::redis {
namespace {

TEST(RedisOwner, ASingleServerHasEveryName) {
  Owner owner(target_of(shared().url()), "orders", *system_environment().random);
  const auto connection = owner.connect();
  EXPECT_EQ(connection->ask({"PING"}, Loss::kNothingDone).bytes, "PONG");
}

TEST(RedisOwner, OfAClusterItIsTheNodeWithTheSlot) {
  const auto& cluster = test::RedisCluster::shared();
  for (const int port : cluster.masters()) {
    const std::string name = "semel-owner:" + cluster.tag_at(port);
    Owner owner(target_of(cluster.url()), name, *system_environment().random);
    // Any other node would send us on.
    EXPECT_EQ(owner.connect()->ask({"EXISTS", name}, Loss::kNothingDone).number, 0);
  }
}

TEST(RedisOwner, SeveralServersThatAreNoClusterAreRefused) {
  const std::string place = "127.0.0.1:" + std::to_string(shared().port());
  Owner owner(target_of("redis://" + place + "," + place), "orders", *system_environment().random);
  EXPECT_EQ(error_from([&] { (void)owner.connect(); }).code, "R259");
}

TEST(RedisOwner, WithoutAnyServerItSaysSo) {
  Owner owner(target_of("redis://127.0.0.1:1"), "orders", *system_environment().random);
  EXPECT_EQ(error_from([&] { (void)owner.connect(); }).code, "R250");
}

}  // namespace
}  // namespace semel::redis
