// Faults between a run and its SQS: it is away, killed, or deletes the queue.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>

#include "tests/cli/sqs_scene.h"
#include "tests/support/tcp_proxy.h"

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

// Its machine hangs for longer than its messages are hidden. A twin has them meanwhile; then it
// goes on with what it had in hand.
TEST(SqsZombie, AProcessThatStoodStillChangesNothingThatItsTwinHasDone) {
  const auto& server = ElasticmqServer::shared();
  SqsScene scene(server, {.ground = Ground::kPostgres});
  scene.publish(1'500);
  auto first = scene.start();
  ASSERT_TRUE(comes_true([&] { return scene.last_effect() >= 20; })) << first->err();
  first->signal(SIGSTOP);
  ASSERT_GT(server.in_flight(scene.queue()), 0) << "it has messages in hand";
  EXPECT_TRUE(comes_true([&] { return server.in_flight(scene.queue()) == 0; }))
      << "their time is over";
  auto twin = scene.start();
  EXPECT_TRUE(comes_true([&] { return server.in_flight(scene.queue()) > 0; })) << twin->err();
  first->signal(SIGCONT);
  EXPECT_TRUE(comes_true([&] { return scene.all_done() && scene.is_empty(); }, seconds(120)))
      << first->err() << twin->err();
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().code, 0) << first->err();
  scene.finish(*twin);
}

// The requests go through, and nobody hears the answers: what they brought is in nobody's hands,
// and what they deleted is deleted again.
TEST(SqsNetwork, AnswersThatAreLostChangeNothing) {
  const auto& server = ElasticmqServer::shared();
  SqsScene scene(server);
  TcpProxy proxy(server.port());
  const auto lost = [&](const char* action) {
    return proxy.inject({.text = action, .then = TcpProxy::Then::kWithhold, .times = 3});
  };
  const auto receives = lost("AmazonSQS.ReceiveMessage");
  const auto deletions = lost("AmazonSQS.DeleteMessageBatch");
  const auto runner = scene.start_through(proxy.port());
  scene.publish(500);
  EXPECT_TRUE(proxy.wait_fired(receives, 3)) << runner->err();
  EXPECT_TRUE(proxy.wait_fired(deletions, 3)) << runner->err();
  scene.finish(*runner);
}

// For longer than messages are hidden: nothing is renewed, and the server gives them out again.
TEST(SqsNetwork, ThatStandsStillForLongerThanMessagesAreHiddenChangesNothing) {
  const auto& server = ElasticmqServer::shared();
  SqsScene scene(server);
  TcpProxy proxy(server.port());
  const auto runner = scene.start_through(proxy.port());
  scene.publish(1'000);
  ASSERT_TRUE(comes_true([&] { return scene.last_effect() >= 20; })) << runner->err();
  const auto stall =
      proxy.inject({.text = "AmazonSQS.", .then = TcpProxy::Then::kStall, .times = 100});
  ASSERT_TRUE(proxy.wait_fired(stall)) << runner->err();
  EXPECT_TRUE(comes_true([&] { return server.in_flight(scene.queue()) == 0; }))
      << "their time is over";
  proxy.clear();
  proxy.cut_all();
  scene.finish(*runner);
}

}  // namespace
}  // namespace semel::test
