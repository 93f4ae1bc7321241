// A window in front of the records, in the real program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/window.h"
#include "tests/support/inputs.h"
#include "tests/support/redis_server.h"

namespace semel::test {
namespace {

constexpr std::string_view kLines = "{ file: { path: in.jsonl } }";

class FrontProgram : public testing::Test {
 protected:
  static std::string consumer(const std::string& front, std::string_view source = kLines) {
    return payments(source) + "    front: " + front + "\n";
  }
  static void add(const TestBed& bed, int from, int to) {
    std::ofstream stream(bed.file("in.jsonl"), std::ios::app);
    for (int i = from; i < to; ++i) stream << payment(fmt::format("p-{}", i), 1, 1);
  }
  static std::int64_t sum(const TestBed& bed) {
    return bed.number("SELECT sum(balance) FROM account");
  }
  static void stop(Program& run) {
    run.signal(SIGTERM);
    const Ran ran = run.wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
};

TEST_F(FrontProgram, DuplicatesAreAnsweredByRedisUntilARecordIsForgottenOrItIsGone) {
  RedisServer redis(RedisServer::fast());
  const TestBed bed(consumer(fmt::format(
      "{{ redis: {{ url: \"{}\", prefix: \"f:\", timeout: 5s }}, ttl: 1h }}", redis.url())));
  add(bed, 0, 10);
  Program run({"run", bed.config(), "-v"});
  ASSERT_TRUE(comes_true([&] { return sum(bed) == 10; })) << run.err();
  // The kept value, and the one that it was tried with.
  ASSERT_TRUE(comes_true([&] { return std::stoi(redis.query("DBSIZE")) >= 11; }));
  EXPECT_TRUE(window_answers(run, 10, [&] { add(bed, 0, 10); })) << run.out() << run.err();
  EXPECT_EQ(sum(bed), 10);

  const Ran forgotten = bed.semel({"records", "forget", "p-1", "-y"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  add(bed, 1, 2);
  EXPECT_TRUE(comes_true([&] { return sum(bed) == 11; })) << run.out();

  redis.kill();
  add(bed, 0, 20);
  ASSERT_TRUE(comes_true([&] { return sum(bed) == 21; })) << run.out() << run.err();
  EXPECT_TRUE(tells(run, "front window")) << run.err();
  redis.start();
  EXPECT_TRUE(tells(run, "front window works again")) << run.err();
  EXPECT_EQ(count_of(run.err(), "front window:"), 1U) << run.err();
  stop(run);
  EXPECT_EQ(sum(bed), 21);
}

TEST_F(FrontProgram, AFencedDuplicateIsAnsweredBeforeItIsKept) {
  const TestBed bed(
      "    source: { file: { path: in.jsonl } }\n"
      "    key: json:/id\n"
      "    strategy: fence\n"
      "    front: { memory: {} }\n"
      "    handler: { exec: { command: [/bin/true], honours_key: true } }\n");
  add(bed, 0, 5);
  Program run({"run", bed.config(), "-v"});
  ASSERT_TRUE(comes_true([&] { return endings_of(run).done >= 5; })) << run.err();
  EXPECT_TRUE(window_answers(run, 5, [&] { add(bed, 0, 5); })) << run.out() << run.err();
  const std::string answered = fmt::format("payments: front in process {}: answered {}, asked ",
                                           run.pid(), endings_of(run).by_window);
  EXPECT_TRUE(comes_true([&] {
    return bed.semel({"status"}).out.find(answered) != std::string::npos;
  })) << bed.semel({"status"}).out;
  stop(run);
  EXPECT_EQ(endings_of(run).done, 5U) << run.out();
}

TEST_F(FrontProgram, CheckNamesItAndRefusesWhereItCannotStand) {
  const TestBed good(consumer("{ memory: { entries: 1000 } }"));
  const Ran fine = good.semel({"check"});
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  EXPECT_NE(fine.out.find("a window in memory"), std::string::npos) << fine.out;
  const std::string shown = input("tests/cli/front/semel.yaml");
  const Ran page = run({"check", shown}, {.environment = {"REDIS_URL=redis://localhost:6379/0"}});
  EXPECT_EQ(page.code, 0) << page.out << page.err;
  EXPECT_NE(page.out.find("a window in Redis"), std::string::npos) << page.out;
  const TestBed queue(consumer("{ memory: {} }", kQueue));
  const Ran refused = queue.semel({"check"});
  EXPECT_EQ(refused.code, 78) << refused.out;
  EXPECT_NE((refused.out + refused.err).find("E054"), std::string::npos)
      << refused.out << refused.err;
}

}  // namespace
}  // namespace semel::test
