// What goes wrong between a run and its SQS: it is away, killed, or deletes the queue.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>

#include "tests/cli/sqs_scene.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

// It forgets its queues: what was not received of them is sent again, as it would be there still at
// a service that forgets nothing.
TEST(SqsServer, ThatIsAwayIsSaidOnceAndWaitedFor) {
  ElasticmqServer server;
  SqsScene scene(server);
  scene.publish(30);
  auto runner = scene.start();
  EXPECT_TRUE(comes_true([&] { return scene.all_done() && scene.is_empty(); })) << runner->err();
  server.kill();
  EXPECT_TRUE(tells(*runner, "R390")) << runner->err();
  EXPECT_EQ(count_of(runner->err(), "R390]"), 1U) << runner->err();
  // A queue that is not there again at once would be taken to be gone.
  server.begin_with(scene.queue());
  server.start();
  scene.publish(30);
  EXPECT_TRUE(comes_true([&] { return scene.all_done(); }, seconds(60))) << runner->err();
  EXPECT_TRUE(tells(*runner, "works again")) << runner->err();
  scene.finish(*runner);
}

TEST(SqsQueue, ThatIsDeletedInMidRunEndsItWithOneError) {
  const auto& server = ElasticmqServer::shared();
  SqsScene scene(server);
  scene.publish(20);
  Program runner({"run", scene.config()});
  EXPECT_TRUE(comes_true([&] { return scene.all_done() && scene.is_empty(); })) << runner.err();
  server.delete_queue(scene.queue());
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error[R394]"), 1U) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  scene.expect_each_once();
}

}  // namespace
}  // namespace semel::test
