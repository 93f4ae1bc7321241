// Faults between a run and its server: it is away, the group is deleted, the stream trimmed; and
// entries that cannot be handled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/cli/redis_streams_test_bed.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

// So often a run asks a server that is away before it is looked at what it said of it.
constexpr int kAskedOfStreams = 3;

TEST(RedisStreamsAway, IsSaidOnceAndWaitedFor) {
  RedisServer server;
  RedisStreamsTestBed bed(server);
  bed.publish(30);
  server.kill();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "R250"));
  EXPECT_TRUE(turn_away(server.port(), kAskedOfStreams)) << "it asks again";
  EXPECT_EQ(count_of(runner.err(), "R250]"), 1U) << runner.err();
  EXPECT_NE(runner.err().find("source.redis_streams.url"), std::string::npos) << runner.err();
  server.start();
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); }, seconds(60))) << runner.err();
  EXPECT_TRUE(tells(runner, "works again"));
  bed.finish(runner);
}

TEST(RedisStreamsAway, OneRunGivesUpAfterAWhile) {
  const RedisStreamsTestBed bed(RedisServer::shared());
  const Ran ran = bed.run_with("url=redis://me:hunter2@127.0.0.1:1/0");
  EXPECT_EQ(ran.code, 69) << ran.err;
  EXPECT_NE(ran.err.find("error[R250]"), std::string::npos) << ran.err;
  EXPECT_EQ((ran.out + ran.err).find("hunter2"), std::string::npos) << ran.err;
}

TEST(RedisStreamsGroup, ThatIsDeletedInMidRunEndsItWithOneError) {
  RedisStreamsTestBed bed(RedisServer::shared(), {.more_of_source = "declare: true"});
  bed.publish(20);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] { return bed.all_done() && bed.stream().all_done(); }))
      << runner.err();
  bed.stream().run({"XGROUP", "DESTROY", bed.stream().name(), RedisStream::group()});
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error[R371]"), 1U) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  bed.expect_each_once();
  const Ran again = bed.run_once();
  EXPECT_EQ(again.code, 0) << "the next run makes it: " << again.err;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  bed.expect_each_once();
}

// Delivered to a run that died, and gone from the stream by the next.
TEST(RedisStreamsTrimmed, APendingEntryBecomesADeadLetterAndIsNeverDoneInSilence) {
  RedisStreamsTestBed bed(RedisServer::shared());
  const RedisStream& stream = bed.stream();
  stream.add({payment("gone", 1, 5), payment("there", 2, 7)});
  stream.run({"XREADGROUP", "GROUP", RedisStream::group(), "dead", "STREAMS", stream.name(), ">"});
  stream.run({"XTRIM", stream.name(), "MAXLEN", "1"});
  const Ran ran = bed.run_once();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "1") << ran.out;
  EXPECT_EQ(bed.sum(), 7);
  const Ran letters = bed.semel({"dlq", "list", "-o", "json"});
  EXPECT_NE(letters.out.find("\"trimmed\""), std::string::npos) << letters.out;
  EXPECT_NE(letters.out.find("its data is gone"), std::string::npos) << letters.out;
  EXPECT_TRUE(stream.all_done()) << "acknowledged, for its end is recorded";
}

TEST(RedisStreamsEntries, ThatAreNoJsonOrHaveNoKeyAreDeadLettersAndDelayNobody) {
  RedisStreamsTestBed bed(RedisServer::shared());
  const RedisStream& stream = bed.stream();
  stream.add({"no JSON"});
  stream.add_fields({"payload", "{}", "payload", "{}"});
  stream.add_fields({"account", "1"});
  bed.publish(3);
  const Ran ran = bed.run_once();
  EXPECT_EQ(ran.code, 0) << ran.err;
  bed.expect_each_once();
  const Ran letters = bed.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(count_of(letters.out, "\"payload.invalid\""), 2U) << letters.out;
  EXPECT_EQ(count_of(letters.out, "\"key.missing\""), 1U) << letters.out;
  EXPECT_TRUE(stream.all_done());
}

}  // namespace
}  // namespace semel::test
