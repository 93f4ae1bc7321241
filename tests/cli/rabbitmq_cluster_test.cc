// A cluster of three nodes whose quorum queue loses the node that leads it, while it is read.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>

#include "tests/cli/rabbitmq_test_bed.h"
#include "tests/support/rabbitmq_cluster.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

TEST(RabbitmqCluster, AQueueWhoseLeaderIsKilledLosesNothing) {
  const RabbitmqCluster cluster(3);
  const std::string queue = cluster.node(0).new_queue("quorum");
  const auto leader = [&](std::size_t asked) { return cluster.leader_of(queue, asked); };
  std::optional<std::size_t> first;
  ASSERT_TRUE(comes_true([&] { return (first = leader(0)).has_value(); }, seconds(60)));
  RabbitmqServer& killed = cluster.node(*first);
  // The publisher stays with a node that lives.
  const std::size_t lives = (*first + 1) % cluster.size();
  RabbitmqTestBed bed(cluster.node(lives), {.queue = queue, .url = cluster.url()});
  bed.publish(2'000);
  auto runner = bed.start();
  ASSERT_TRUE(comes_true([&] { return bed.sum() > 0; }, seconds(60))) << runner->err();
  // It stands still, so that something is left to lose.
  runner->signal(SIGSTOP);
  bed.publish(2'000);
  killed.kill();
  runner->signal(SIGCONT);
  // A producer is told no while nobody leads, and would have to send again.
  EXPECT_TRUE(comes_true([&] { return leader(lives).value_or(*first) != *first; }, seconds(60)));
  bed.publish(2'000);
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); }, seconds(90))) << runner->err();
  killed.start();
  bed.publish(500);
  // Messages out to a consumer of that node come back when the node is known to be there again.
  EXPECT_TRUE(comes_true([&] { return bed.server().messages(queue) == 0; }, seconds(60)))
      << bed.server().messages(queue) << '\n'
      << runner->err();
  bed.finish(*runner);
}

}  // namespace
}  // namespace semel::test
