// Faults between a run and its NATS server: it is away, it is killed, it deletes the
// consumer or the stream.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/cli/nats_test_bed.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

// So often a run asks a server that is away before it is looked at what it said of it.
constexpr int kAskedOfNats = 3;

TEST(NatsServerFaults, OneThatIsAwayIsSaidOnceAndWaitedFor) {
  NatsServer server;
  NatsTestBed bed(server);
  bed.publish(30);
  server.kill();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "R380"));
  EXPECT_TRUE(turn_away(server.port(), kAskedOfNats)) << "it asks again";
  EXPECT_EQ(count_of(runner.err(), "R380]"), 1U) << runner.err();
  server.start();
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); }, seconds(60))) << runner.err();
  EXPECT_TRUE(tells(runner, "works again"));
  // And while it works.
  const auto before = bed.sum();
  bed.publish(3'000);
  EXPECT_TRUE(comes_true([&] { return bed.sum() > before; }, seconds(60)));
  server.kill();
  EXPECT_TRUE(comes_true([&] { return count_of(runner.err(), "error[R380]") == 2; }))
      << runner.err();
  server.start();
  bed.finish(runner);
}

TEST(NatsServerFaults, AConsumerThatIsDeletedEndsTheRunWithOneError) {
  const auto& server = NatsServer::shared();
  NatsTestBed bed(server);
  bed.publish(20);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner.err();
  server.delete_consumer(bed.stream(), NatsTestBed::kDurable);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error[R384]"), 1U) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  bed.expect_each_once();
  // Made anew by the next run, it brings all of them again: they are duplicates.
  const Ran again = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(again.out, "/duplicates"), std::to_string(bed.deliveries())) << again.out;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
}

TEST(NatsServerFaults, AStreamThatIsDeletedEndsTheRunWithOneError) {
  const auto& server = NatsServer::shared();
  NatsTestBed bed(server);
  bed.publish(20);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner.err();
  server.delete_stream(bed.stream());
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  EXPECT_NE(ran.err.find("the stream is not there"), std::string::npos) << ran.err;
}

// Messages that it had not read are gone, and it goes on.
TEST(NatsServerFaults, AStreamThatIsPurgedIsReadOn) {
  const auto& server = NatsServer::shared();
  NatsTestBed bed(server);
  server.publish_bodies(bed.stream(), {payment("gone", 1, 1)});
  server.purge_stream(bed.stream());
  bed.publish(20);
  auto runner = bed.start();
  bed.finish(*runner);
}

}  // namespace
}  // namespace semel::test
