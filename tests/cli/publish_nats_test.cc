// Messages published to NATS JetStream by the real program, and read from it by another consumer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <string>

#include "tests/cli/admin_run.h"
#include "tests/cli/program.h"
#include "tests/cli/publish_bed.h"
#include "tests/support/nats_server.h"

namespace semel::test {
namespace {

std::string to_subject(const std::string& url, const std::string& subject,
                       const std::string& more = {}) {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    timeout: 10s\n"
      "    retry: {{ backoff: 50ms..500ms }}\n"
      "    handler: {{ nats: {{ url: \"{}\", subject: \"{}\"{} }} }}\n",
      url, subject, more);
}

std::map<std::string, int> stored_ids(const NatsServer& server, const std::string& stream) {
  std::map<std::string, int> times;
  for (const auto& post : server.stored(stream)) ++times[post.id];
  return times;
}

TEST(NatsPublishProgram, WhatIsQueuedStandsInTheStreamAndIsReadFromItOnce) {
  const auto& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  const TestBed bed(to_subject(server.url(), stream + ".out", ", honours_key: true"));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("keyed_retry"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("its duplicate window; a message is retried"), std::string::npos)
      << checked.out;
  EXPECT_EQ(checked.out.find("right"), std::string::npos) << "the password";
  send_ids(bed, 200, {"--header", "trace=7"});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "200") << ran.out;
  EXPECT_EQ(stored_ids(server, stream).size(), 200U);
  const TestBed reader(fmt::format(
      "    source: {{ nats: {{ url: \"{}\", stream: {}, durable: d, declare: true }} }}\n"
      "    key: broker_key\n"
      "    handler: {{ exec: [/bin/true] }}\n",
      server.url(), stream));
  const Ran read = reader.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_EQ(json_at(read.out, "/effects"), "200") << read.out;
}

TEST(NatsPublishProgram, ASubjectWithoutAStreamIsSaidAndNothingIsLost) {
  const auto& server = NatsServer::shared();
  const std::string nowhere = NatsServer::unused_name();
  const TestBed bed(to_subject(server.url(), nowhere));
  send_ids(bed, 20);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "no stream takes " + nowhere)) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const std::string stream = server.new_stream();
  const Ran mended =
      bed.semel({"run", "--once", "-q", "--set", "consumers[0].handler.nats.subject=" + stream});
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_EQ(stored_ids(server, stream).size(), 20U);
}

TEST(NatsPublishProgram, AServerThatIsAwayAtTheStartAndKilledInMidRunLosesAndDoublesNothing) {
  NatsServer server;
  const std::string stream = server.new_stream();
  const TestBed bed(to_subject(server.url(), stream));
  send_ids(bed, 3'000);
  server.kill();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "no NATS server answers")) << runner.err();
  server.start();
  ASSERT_TRUE(comes_true([&] { return server.stored_count(stream) > 100; })) << runner.err();
  server.kill();
  server.start();
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 3'000); }, std::chrono::seconds(90)))
      << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const auto times = stored_ids(server, stream);
  EXPECT_EQ(times.size(), 3'000U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
}

TEST(NatsPublishProgram, AWrongPasswordIsSaidWithoutItAndCostsNoAttempt) {
  const auto& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  const TestBed bed(to_subject(server.url("owner:wrong-hunter2"), stream));
  send_ids(bed, 10);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "refuses the login")) << runner.err();
  runner.signal(SIGTERM);
  runner.wait();
  EXPECT_EQ(runner.err().find("hunter2"), std::string::npos);
  const Ran mended =
      bed.semel({"run", "--once", "-q", "--set", "consumers[0].handler.nats.url=" + server.url()});
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_EQ(stored_ids(server, stream).size(), 10U);
}

// Which subjects a stream takes stands at the server alone.
TEST(NatsPublishProgram, AConsumerThatWouldReadWhatItPublishesIsRefusedByDoctorAndByAReload) {
  const auto& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  const std::string other = server.new_stream();
  const auto reading = [&](const std::string& from) {
    return fmt::format("stream: {}, durable: d, declare: true", from);
  };
  const TestBed bed(
      fmt::format("    source: {{ nats: {{ url: \"{0}\", {1} }} }}\n"
                  "    key: json:/id\n"
                  "    handler: {{ nats: {{ url: \"{0}\", subject: {2}.out }} }}\n",
                  server.url(), reading(other), stream));
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  const Ran apart = bed.semel({"doctor"});
  EXPECT_EQ(apart.code, 0) << apart.out;
  const std::string config = contents_of(bed.config());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    text.replace(text.find(from), from.size(), to);
    write_file(bed.config(), text);
  };
  Program runner({"run", bed.config()});
  ASSERT_TRUE(comes_true([&] { return server.counts(other, "d").waiting > 0; })) << runner.err();
  with(reading(other), reading(stream));
  EXPECT_NE(bed.semel({"doctor"}).out.find("[fail] E053"), std::string::npos);
  runner.signal(SIGHUP);
  EXPECT_TRUE(tells(runner, "E053")) << runner.err();
  with(reading(other), "stream: " + other + ", durable: nobody");
  runner.signal(SIGHUP);
  EXPECT_TRUE(tells(runner, "R384")) << runner.err();
  // The durable that is there is given other subjects alone.
  server.make_consumer(stream, "d", fmt::format(R"(,"filter_subject":"{}.in")", stream));
  with(reading(other), reading(stream));
  EXPECT_EQ(bed.semel({"doctor"}).out.find("E053"), std::string::npos);
  runner.signal(SIGHUP);
  EXPECT_TRUE(tells(runner, "reload: the config is in effect")) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0) << runner.err();
}

}  // namespace
}  // namespace semel::test
