// A cluster of three nodes whose quorum queue loses the node that leads it, while it is read.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/cli/rabbitmq_scene.h"
#include "tests/support/rabbitmq_cluster.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

TEST(RabbitmqCluster, AQueueWhoseLeaderIsKilledLosesNothing) {
  const RabbitmqCluster cluster(3);
  const std::string queue = cluster.node(0).new_queue("quorum");
  ASSERT_EQ(cluster.leader_of(queue, 1), 0U) << "it was made there";
  // Who publishes stays with a node that lives.
  RabbitmqScene scene(cluster.node(1), {.queue = queue, .url = cluster.url()});
  scene.publish(2'000);
  auto runner = scene.start();
  ASSERT_TRUE(comes_true([&] { return scene.sum() > 0; }, seconds(60))) << runner->err();
  const auto before = scene.sum();
  ASSERT_LT(before, scene.published_sum()) << "else nothing was left to lose";
  cluster.node(0).kill();
  // A producer is told no while nobody leads, and would have to send again.
  EXPECT_TRUE(
      comes_true([&] { return cluster.leader_of(queue, 1).value_or(0) != 0; }, seconds(60)));
  scene.publish(2'000);
  EXPECT_TRUE(comes_true([&] { return scene.all_done(); }, seconds(90))) << runner->err();
  cluster.node(0).start();
  scene.publish(500);
  // What was out to a consumer of that node comes back when the node is known to be there again.
  EXPECT_TRUE(comes_true([&] { return scene.server().messages(queue) == 0; }, seconds(60)))
      << scene.server().messages(queue) << '\n'
      << runner->err();
  scene.finish(*runner);
}

}  // namespace
}  // namespace semel::test
