// A queue of dead letters: a copy of each that leaves by the outbox.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/rabbitmq_test_bed.h"

namespace semel::test {
namespace {

constexpr int kLost = 10;

std::string morgue(const RabbitmqServer& server, const std::string& queue) {
  return fmt::format(
      "    dead_letter: {{ copy_to: morgue }}\n"
      "  - name: morgue\n"
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    strategy: natural\n"
      "    retry: {{ attempts: 0, backoff: 100ms..500ms, max_elapsed: 0s }}\n"
      "    handler: {{ rabbitmq: {{ url: \"{}\", queue: {} }} }}\n",
      server.url(), queue);
}

void publish_dead(const RabbitmqTestBed& bed) {
  std::vector<std::string> bodies;
  for (int i = 0; i < kLost; ++i) bodies.push_back(fmt::format(R"({{"id":"dead-{}"}})", i));
  bed.server().publish_bodies(bed.queue(), bodies);
}

TEST(RabbitmqDeadLetters, ACopyOfEachIsInItsQueue) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue("quorum");
  RabbitmqTestBed bed(server, {.others = morgue(server, queue)});
  bed.publish(50);
  publish_dead(bed);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  bed.expect_each_once();
  // A broker that is busy says of a quorum queue that it has none.
  EXPECT_TRUE(comes_true([&] { return server.depth(queue) == kLost; })) << server.depth(queue);
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), std::to_string(kLost));
}

// It waits in the store until somebody makes the queue, and says why.
TEST(RabbitmqDeadLetters, WhereTheQueueIsMissingNoneIsLost) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = RabbitmqServer::unused_name();
  RabbitmqTestBed bed(server, {.others = morgue(server, queue)});
  publish_dead(bed);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] {
    return json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count") == std::to_string(kLost);
  }));
  EXPECT_TRUE(runner.says(queue)) << "who looks for it finds its name: " << runner.err();
  EXPECT_TRUE(comes_true([&] { return server.messages(bed.queue()) == 0; }))
      << "settled all the same";
  server.make_queue(queue, "classic");
  EXPECT_TRUE(comes_true([&] { return server.depth(queue) == kLost; })) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
}

}  // namespace
}  // namespace semel::test
