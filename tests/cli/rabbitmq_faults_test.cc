// Faults between a run and its broker: it is away, killed, short of memory; it deletes the
// queue, closes the channel, loses patience.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>

#include "tests/cli/rabbitmq_test_bed.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One for all of them: each leaves it running.
RabbitmqServer& own_broker() {
  static RabbitmqServer server(
      {.terms = {"{consumer_timeout, 2000}"}, .certificate = {}, .key = {}});
  return server;
}

// So often a run asks a broker that is away before it is looked at what it said of it.
constexpr int kAskedOfRabbitmq = 3;

TEST(RabbitmqBroker, ThatIsAwayIsSaidOnceAndWaitedFor) {
  RabbitmqServer& server = own_broker();
  RabbitmqTestBed bed(server);
  bed.publish(30);
  // In good order: killed just after it was made, a quorum queue is one that the broker cannot
  // start again, for it keeps its name in memory for minutes.
  server.stop();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "R310"));
  EXPECT_TRUE(turn_away(server.port(), kAskedOfRabbitmq)) << "it asks again";
  EXPECT_EQ(count_of(runner.err(), "R310]"), 1U) << runner.err();
  server.start();
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); }, seconds(60))) << runner.err();
  EXPECT_TRUE(tells(runner, "works again"));
  // And while it works.
  const auto before = bed.sum();
  bed.publish(3'000);
  EXPECT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60)));
  server.kill();
  EXPECT_TRUE(comes_true([&] { return count_of(runner.err(), "error[R310]") == 2; }))
      << runner.err();
  server.start();
  bed.finish(runner);
}

TEST(RabbitmqBroker, ThatClosesTheConnectionIsAskedAgain) {
  RabbitmqServer& server = own_broker();
  RabbitmqTestBed bed(server);
  auto runner = bed.start();
  for (int i = 0; i < 2; ++i) {
    bed.publish(1'000);
    // The run's own: the connection that published has ended.
    EXPECT_TRUE(comes_true([&] {
      return server.eval(R"([rabbit_networking:close_connection(C, "a test") || )"
                         R"(C <- rabbit_networking:connections()].)") != "[]";
    }));
  }
  bed.finish(*runner);
}

// The channel is closed under a message that is handled for longer than the broker waits.
TEST(RabbitmqBroker, ThatLosesPatienceIsToldOfAndTheMessageIsDoneOnce) {
  RabbitmqTestBed bed(own_broker(), {.more = "    timeout: 60s\n", .slow = true});
  bed.server().publish_bodies(bed.queue(), {payment("a", 1, 1)});
  const TempDir folder;
  const std::string waits =
      fmt::format("cat > /dev/null; while [ ! -e {} ]; do sleep 0.05; done", folder.file("go"));
  Program runner({"run", bed.config(), "--set",
                  fmt::format("consumers[0].handler.exec.command=[sh, -c, '{}']", waits)});
  EXPECT_TRUE(tells(runner, "consumer_timeout")) << runner.err();
  write_file(folder.file("go"), "");
  EXPECT_TRUE(comes_true(
      [&] {
        return json_at(bed.semel({"records", "show", "a", "-o", "json"}).out, "/records/0/state") ==
               "completed";
      },
      seconds(30)))
      << runner.err();
  EXPECT_TRUE(comes_true([&] { return bed.server().messages(bed.queue()) == 0; }, seconds(30)))
      << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
}

TEST(RabbitmqBroker, ThatIsShortOfMemoryIsReadFromAsEver) {
  RabbitmqServer& server = own_broker();
  RabbitmqTestBed bed(server);
  bed.publish(200);
  server.limit_memory(1'000'000);
  auto runner = bed.start();
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); }, seconds(60))) << runner->err();
  server.limit_memory(1'000'000'000);
  bed.publish(50);
  bed.finish(*runner);
}

TEST(RabbitmqQueue, ThatIsDeletedInMidRunEndsItWithOneError) {
  const auto& server = RabbitmqServer::shared();
  RabbitmqTestBed bed(server);
  bed.publish(20);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner.err();
  server.delete_queue(bed.queue());
  const Ran ran = runner.wait();
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(count_of(ran.err, "error[R314]"), 1U) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  bed.expect_each_once();
}

// A classic one: of a quorum queue the broker's channel would go on to count where it was.
TEST(RabbitmqQueue, ThatIsMadeAgainAtOnceIsReadOn) {
  const auto& server = RabbitmqServer::shared();
  RabbitmqTestBed bed(server, {.type = "classic"});
  bed.publish(20);
  auto runner = bed.start();
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner->err();
  server.delete_queue(bed.queue());
  server.make_queue(bed.queue(), "classic");
  bed.publish(20);
  bed.finish(*runner);
}

}  // namespace
}  // namespace semel::test
