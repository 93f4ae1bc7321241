// Messages added to a Redis stream by the real program, and read from it by another consumer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/publish_bed.h"
#include "tests/support/redis_server.h"

namespace semel::test {
namespace {

std::string to_stream(const std::string& url, const std::string& stream,
                      const std::string& more = {}) {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    timeout: 10s\n"
      "    retry: {{ backoff: 50ms..500ms }}\n"
      "    handler: {{ redis_streams: {{ url: \"{}\", stream: \"{}\"{} }} }}\n",
      url, stream, more);
}

std::map<std::string, int> entry_keys(const RedisServer& server, const std::string& stream) {
  std::map<std::string, int> times;
  std::istringstream lines(server.run({"XRANGE", stream, "-", "+"}));
  for (std::string line; std::getline(lines, line);) {
    if (line == "Idempotency-Key" && std::getline(lines, line)) ++times[line];
  }
  return times;
}

TEST(RedisStreamsPublishProgram, WhatIsQueuedStandsInTheStreamAndIsReadFromItOnce) {
  const auto& server = RedisServer::shared();
  const std::string stream = server.new_database() + ":out";
  server.run({"XGROUP", "CREATE", stream, "readers", "0", "MKSTREAM"});
  const TestBed bed(to_stream(server.url(), stream, ", honours_key: true"));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("redis_streams " + stream.substr(0, 20)), std::string::npos)
      << checked.out;
  EXPECT_NE(checked.out.find("keyed_retry"), std::string::npos) << checked.out;
  send_ids(bed, 200, {"--header", "trace=7"});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "200") << ran.out;
  EXPECT_EQ(entry_keys(server, stream).size(), 200U);
  const TestBed reader(fmt::format(
      "    source: {{ redis_streams: {{ url: \"{}\", stream: \"{}\", group: readers }} }}\n"
      "    handler: {{ exec: [/bin/true] }}\n",
      server.url(), stream));
  const Ran read = reader.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_EQ(json_at(read.out, "/effects"), "200") << read.out;
}

TEST(RedisStreamsPublishProgram, AStreamThatIsNotThereIsWaitedFor) {
  const auto& server = RedisServer::shared();
  const std::string stream = server.new_database() + ":out";
  const TestBed bed(to_stream(server.url(), stream));
  send_ids(bed, 50);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "there is no stream " + stream)) << runner.err();
  server.run({"XGROUP", "CREATE", stream, "readers", "0", "MKSTREAM"});
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 50); })) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const auto times = entry_keys(server, stream);
  EXPECT_EQ(times.size(), 50U);
  for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key;
}

TEST(RedisStreamsPublishProgram, AServerThatIsAwayAtTheStartAndKilledInMidRunLosesNothing) {
  RedisServer server;
  const TestBed bed(to_stream(server.url(), "out", ", declare: true"));
  send_ids(bed, 3'000);
  server.kill();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "Redis server")) << runner.err();
  server.start();
  const auto added = [&] {
    const std::string length = server.run({"XLEN", "out"});
    return !length.empty() && std::stoi(length) > 100;
  };
  ASSERT_TRUE(comes_true(added)) << runner.err();
  server.kill();
  server.start();
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 3'000); }, std::chrono::seconds(90)))
      << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(entry_keys(server, "out").size(), 3'000U);
}

TEST(RedisStreamsPublishProgram, ADrainWaitsForAnswers) {
  const auto& server = RedisServer::shared();
  const std::string stream = server.new_database() + ":out";
  const TestBed bed(to_stream(server.url(), stream, ", declare: true"));
  send_ids(bed, 2'000);
  Program runner({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return server.run({"XLEN", stream}) != "0"; }));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  const auto times = entry_keys(server, stream);
  EXPECT_EQ(times.size(), 2'000U);
  for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key;
}

}  // namespace
}  // namespace semel::test
