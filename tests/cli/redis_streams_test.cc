// The program on a stream of a Redis server: what a user sees of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/redis_streams_test_bed.h"
#include "tests/support/inputs.h"
#include "tests/support/redis_cluster.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

TEST(RedisStreamsRun, AStreamIsAppliedOnceThoughItsProducerSaysThingsTwice) {
  RedisStreamsTestBed bed(RedisServer::shared());
  bed.publish(300);
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  // The table shortens long names.
  EXPECT_NE(checked.out.find("redis_streams " + bed.stream().name().substr(0, 10)),
            std::string::npos)
      << checked.out;
  EXPECT_NE(checked.out.find("reads in group readers under a new name for each run"),
            std::string::npos)
      << checked.out;
  const Ran ran = bed.run_once();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "300") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "100") << ran.out;
  bed.expect_each_once();
  EXPECT_TRUE(bed.stream().members().empty()) << "its name is gone with it";
  const Ran idle = bed.run_once();
  EXPECT_EQ(json_at(idle.out, "/deliveries"), "0") << "all was acknowledged: " << idle.out;
}

// Nothing of it is in the store yet: only the server knows.
TEST(RedisStreamsRun, AConsumerThatNobodyRunsIsDownWhereEntriesWait) {
  RedisStreamsTestBed bed(RedisServer::shared());
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const auto status = [&](Words more = {}) {
    Words words{"status", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return bed.semel(words);
  };
  EXPECT_EQ(json_at(status().out, "/consumers/0/lag"), "0");
  bed.stream().add({payment("p-1", 1, 5), payment("p-2", 2, 5)});
  const Ran down = status();
  EXPECT_EQ(down.code, 1) << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/state"), "down") << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/lag"), "2") << down.out;
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(status().code, 0) << "all of it is done";
  const std::string at = "consumers[0].source.redis_streams.";
  const Ran away = status({"--set", at + "url=redis://127.0.0.1:1"});
  EXPECT_EQ(json_at(away.out, "/consumers/0/state"), "unknown") << away.out << away.err;
  const Ran missing = status({"--set", at + "group=nobody"});
  EXPECT_EQ(json_at(missing.out, "/consumers/0/state"), "unknown") << missing.out;
  EXPECT_NE(missing.err.find("has no group nobody"), std::string::npos) << missing.err;
}

// Its retry waits in the store: it is acknowledged, and keeps no place of the prefetch.
TEST(RedisStreamsRun, AKeyThatFailsDelaysNobody) {
  RedisStreamsTestBed bed(RedisServer::shared(), {.more_of_source = "prefetch: 2",
                                                  .more = "    retry: { backoff: 1h..2h }\n"});
  std::vector<std::string> failing;
  for (int i = 0; i < 4; ++i) failing.push_back(payment(fmt::format("none-{}", i), 4711, 1));
  bed.stream().add(failing);
  bed.publish(50);
  Program runner({"run", bed.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner.err();
  EXPECT_TRUE(comes_true([&] { return bed.stream().all_done(); })) << "while it runs";
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(json_at(bed.semel({"records", "show", "none-0", "-o", "json"}).out, "/records/0/state"),
            "retrying");
  bed.expect_each_once();
}

TEST(RedisStreamsRun, ADryRunTakesNothingAndEnds) {
  RedisStreamsTestBed bed(RedisServer::shared());
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  bed.publish(30);
  const Ran few = bed.semel({"run", "--dry-run", "-o", "json", "-q", "--set",
                             "consumers[0].source.redis_streams.prefetch=7"});
  EXPECT_EQ(json_at(few.out, "/deliveries"), "7") << "as many as it may have: " << few.out;
  const Ran looked = bed.semel({"run", "--dry-run", "-o", "json", "-q"});
  EXPECT_EQ(looked.code, 0) << looked.err;
  EXPECT_EQ(json_at(looked.out, "/deliveries"), std::to_string(bed.deliveries())) << looked.out;
  EXPECT_EQ(bed.sum(), 0);
  const Ran ran = bed.run_once();
  EXPECT_EQ(json_at(ran.out, "/deliveries"), std::to_string(bed.deliveries())) << ran.out;
  bed.expect_each_once();
}

// A message that takes longer than claim_after is nobody else's.
TEST(RedisStreamsRun, ASlowHandlerKeepsWhatItHas) {
  RedisStreamsTestBed bed(
      RedisServer::shared(),
      {.handler = "    handler: { exec: { command: [sleep, '3'], timeout: 60s } }\n"});
  bed.stream().add({payment("p-1", 1, 1)});
  Program first({"run", bed.config()});
  ASSERT_TRUE(comes_true([&] { return bed.stream().pending() == 1; })) << first.err();
  const Ran second = bed.run_once();
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(json_at(second.out, "/deliveries"), "0") << second.out;
  EXPECT_TRUE(comes_true([&] { return bed.stream().all_done(); }, seconds(60))) << first.err();
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().code, 0);
}

TEST(RedisStreamsRun, ReadsAStreamOfACluster) {
  const RedisCluster& cluster = RedisCluster::shared();
  RedisStreamsTestBed bed(RedisServer::shared());
  const std::string name = cluster.new_prefix() + "payments";
  cluster.run_for(name, {"XGROUP", "CREATE", name, RedisStream::group(), "0", "MKSTREAM"});
  for (int i = 0; i < 3; ++i) {
    cluster.run({"XADD", name, "*", "payload", payment(fmt::format("p-{}", i), 1, 2)});
  }
  const std::string at = "consumers[0].source.redis_streams.";
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q", "--set",
                             at + "url=" + cluster.url(), "--set", at + "stream=" + name});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "3") << ran.out;
  EXPECT_EQ(bed.sum(), 6);
}

void expect_one_stream_error(const Ran& ran, const std::string& code, const std::string& what) {
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  EXPECT_NE(ran.err.find("error[" + code + "]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
}

TEST(RedisStreamsRefusals, EachIsOneErrorWithItsFix) {
  const RedisServer& server = RedisServer::shared();
  const RedisStreamsTestBed bed(server);
  expect_one_stream_error(bed.run_with("stream=no-such-stream"), "R371", "no-such-stream");
  expect_one_stream_error(bed.run_with("group=nobody"), "R371", "nobody");
  const std::string text = server.new_database() + ":text";
  server.run({"SET", text, "x"});
  expect_one_stream_error(bed.run_with("stream=" + text), "R372", text);
  expect_one_stream_error(bed.run_with("url=redis://127.0.0.1:99999"), "R259", "port");
}

TEST(RedisStreamsDoctor, TellsHowFarTheGroupIs) {
  RedisStreamsTestBed bed(RedisServer::shared());
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  const RedisStream& stream = bed.stream();
  stream.add({payment("a", 1, 5), payment("b", 1, 5), payment("c", 1, 5)});
  const Ran waiting = bed.semel({"doctor"});
  EXPECT_EQ(waiting.code, 0) << waiting.out << waiting.err;
  EXPECT_NE(waiting.out.find("has 3 entries unread and 0 pending"), std::string::npos)
      << waiting.out;
  ASSERT_EQ(bed.run_once().code, 0);
  stream.add({payment("d", 1, 5), payment("e", 1, 5)});
  stream.run({"XTRIM", stream.name(), "MAXLEN", "1"});
  const Ran trimmed = bed.semel({"doctor"});
  EXPECT_NE(trimmed.out.find("1 entries of " + stream.name() + " were trimmed"), std::string::npos)
      << trimmed.out;
  stream.run({"XGROUP", "DESTROY", stream.name(), RedisStream::group()});
  const Ran missing = bed.semel({"doctor"});
  EXPECT_EQ(missing.code, 1) << missing.out;
  EXPECT_NE(missing.out.find("R371"), std::string::npos) << missing.out;
}

TEST(RedisStreamsRun, DeclareMakesTheGroupThatIsNotThere) {
  const RedisServer& server = RedisServer::shared();
  const RedisStreamsTestBed bed(server);
  const std::string name = server.new_database() + ":made";
  const std::string at = "consumers[0].source.redis_streams.";
  const Ran ran = bed.semel({"run", "--once", "-q", "--set", at + "stream=" + name, "--set",
                             at + "declare=true", "--set", at + "from=latest"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(server.run({"XINFO", "GROUPS", name}).find(RedisStream::group()), std::string::npos);
}

// The example of docs/sources/redis-streams.md, and the starters.
TEST(RedisStreamsPage, TheExampleAndTheStartersAreAccepted) {
  const std::string file = input("tests/cli/redis_streams/semel.yaml");
  const Ran checked = run({"check", file});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const TempDir folder;
  for (const char* words :
       {"redis_streams/sql/sqlite", "redis_streams/sql/postgres", "redis_streams/http/redis"}) {
    write_file(folder.file("semel.yaml"), run({"init", words}).out);
    const Ran started = run({"check", folder.file("semel.yaml")});
    EXPECT_EQ(started.code, 0) << words << started.out << started.err;
    EXPECT_NE(started.out.find("reads in group semel"), std::string::npos) << started.out;
  }
}

struct StreamKeyCase {
  const char* key;
  std::vector<std::string> fields;
};

class RedisStreamsKeys : public ::testing::TestWithParam<int> {
 protected:
  static const std::vector<StreamKeyCase>& cases() {
    static const std::string plain = R"({"id":"i-1","account":1,"amount":5})";
    static const std::vector<StreamKeyCase> all = {
        {"json:/id", {"payload", plain}},
        {"json:/id", {"id", "i-1", "account", "1", "amount", "5"}},
        {"header:X-Id", {"payload", plain, "x-id", "h-1"}},
        {"auto", {"webhook-id", "w-1", "payload", plain}},
        {"auto", {"payload", plain, "Idempotency-Key", "\"k-1\""}},
        {"cloudevents",
         {"payload", plain, "ce-specversion", "1.0", "ce-source", "/shop", "ce-id", "e-1"}},
        {"cloudevents",
         {"payload",
          R"({"specversion":"1.0","source":"/shop","id":"e-2","type":"paid",)"
          R"("account":1,"amount":5})",
          "content-type", "application/cloudevents+json"}}};
    return all;
  }
};

TEST_P(RedisStreamsKeys, AreFoundWhereTheProducerPutThem) {
  const StreamKeyCase& one = cases().at(static_cast<std::size_t>(GetParam()));
  const RedisStreamsTestBed bed(RedisServer::shared(), {.key = one.key});
  for (int i = 0; i < 2; ++i) bed.stream().add_fields(one.fields);
  const Ran ran = bed.run_once();
  EXPECT_EQ(json_at(ran.out, "/effects"), "1") << ran.out << ran.err;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "1") << ran.out << ran.err;
  EXPECT_EQ(bed.sum(), 5);
}

INSTANTIATE_TEST_SUITE_P(Places, RedisStreamsKeys, ::testing::Range(0, 7));

}  // namespace
}  // namespace semel::test
