// Faults between a run and its SQS: it is away, killed, or deletes the queue.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>

#include "tests/cli/sqs_test_bed.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

// It forgets its queues: what was not received of them is sent again, as it would be there still at
// a service that forgets nothing.
TEST(SqsServer, ThatIsAwayIsSaidOnceAndWaitedFor) {
  ElasticmqServer server;
  SqsTestBed bed(server);
  bed.publish(30);
  auto runner = bed.start();
  EXPECT_TRUE(comes_true([&] { return bed.all_done() && bed.is_empty(); })) << runner->err();
  server.kill();
  EXPECT_TRUE(tells(*runner, "R390")) << runner->err();
  EXPECT_EQ(count_of(runner->err(), "R390]"), 1U) << runner->err();
  // A queue that is not there again at once would be taken to be gone.
  server.begin_with(bed.queue());
  server.start();
  bed.publish(30);
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); }, seconds(60))) << runner->err();
  EXPECT_TRUE(tells(*runner, "works again")) << runner->err();
  bed.finish(*runner);
}

TEST(SqsQueue, ThatIsDeletedInMidRunEndsItWithOneError) {
  const auto& server = ElasticmqServer::shared();
  SqsTestBed bed(server);
  bed.publish(20);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] { return bed.all_done() && bed.is_empty(); })) << runner.err();
  server.delete_queue(bed.queue());
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error[R394]"), 1U) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  bed.expect_each_once();
}

// Its machine hangs for longer than its messages are hidden. A twin has them meanwhile; then it
// goes on with what it had in hand.
TEST(SqsZombie, AProcessThatStoodStillChangesNothingThatItsTwinHasDone) {
  const auto& server = ElasticmqServer::shared();
  SqsTestBed bed(server, {.database_kind = DatabaseKind::kPostgres});
  bed.publish(1'500);
  auto first = bed.start();
  ASSERT_TRUE(comes_true([&] { return bed.last_effect() >= 20; })) << first->err();
  first->signal(SIGSTOP);
  ASSERT_GT(server.in_flight(bed.queue()), 0) << "it has messages in hand";
  EXPECT_TRUE(comes_true([&] { return server.in_flight(bed.queue()) == 0; }))
      << "their time is over";
  auto twin = bed.start();
  EXPECT_TRUE(comes_true([&] { return server.in_flight(bed.queue()) > 0; })) << twin->err();
  first->signal(SIGCONT);
  EXPECT_TRUE(comes_true([&] { return bed.all_done() && bed.is_empty(); }, seconds(120)))
      << first->err() << twin->err();
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().code, 0) << first->err();
  bed.finish(*twin);
}

// The requests go through, and nobody hears the answers: what they brought is in nobody's hands,
// and what they deleted is deleted again.
TEST(SqsNetwork, AnswersThatAreLostChangeNothing) {
  const auto& server = ElasticmqServer::shared();
  SqsTestBed bed(server);
  TcpProxy proxy(server.port());
  const auto lost = [&](const char* action) {
    return proxy.inject({.text = action, .then = TcpProxy::Then::kWithhold, .times = 3});
  };
  const auto receives = lost("AmazonSQS.ReceiveMessage");
  const auto deletions = lost("AmazonSQS.DeleteMessageBatch");
  const auto runner = bed.start_through(proxy.port());
  bed.publish(500);
  EXPECT_TRUE(proxy.wait_fired(receives, 3)) << runner->err();
  EXPECT_TRUE(proxy.wait_fired(deletions, 3)) << runner->err();
  bed.finish(*runner);
}

// For longer than messages are hidden: nothing is renewed, and the server gives them out again.
TEST(SqsNetwork, ThatStandsStillForLongerThanMessagesAreHiddenChangesNothing) {
  const auto& server = ElasticmqServer::shared();
  SqsTestBed bed(server);
  TcpProxy proxy(server.port());
  const auto runner = bed.start_through(proxy.port());
  bed.publish(1'000);
  ASSERT_TRUE(comes_true([&] { return bed.last_effect() >= 20; })) << runner->err();
  const auto stall =
      proxy.inject({.text = "AmazonSQS.", .then = TcpProxy::Then::kStall, .times = 100});
  ASSERT_TRUE(proxy.wait_fired(stall)) << runner->err();
  EXPECT_TRUE(comes_true([&] { return server.in_flight(bed.queue()) == 0; }))
      << "their time is over";
  proxy.clear();
  proxy.cut_all();
  bed.finish(*runner);
}

}  // namespace
}  // namespace semel::test
