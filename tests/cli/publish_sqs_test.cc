// Messages sent to SQS by the real program, and read from there by another consumer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <set>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/publish_bed.h"
#include "tests/support/elasticmq_server.h"
#include "tests/support/http_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

constexpr const char* kSqsKeys =
    "region: local, credentials: { access_key_id: AKID, secret_access_key: hunter2 }";

std::string to_sqs(const std::string& url, const std::string& more = {}) {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    timeout: 10s\n"
      "    retry: {{ backoff: 50ms..500ms }}\n"
      "    handler: {{ sqs: {{ queue_url: \"{}\", {}{} }} }}\n",
      url, kSqsKeys, more);
}

TestBed reader_of(const std::string& url, const std::string& key = "auto") {
  return TestBed(
      fmt::format("    source: {{ sqs: {{ queue_url: \"{}\", {}, wait: 1s }} }}\n"
                  "    key: {}\n"
                  "    handler: {{ exec: [/bin/true] }}\n",
                  url, kSqsKeys, key));
}

std::map<std::string, int> bodies_in(const ElasticmqServer& server, const std::string& queue) {
  std::map<std::string, int> times;
  for (const auto& post : server.take_all(queue)) ++times[post.body];
  return times;
}

TEST(SqsPublishProgram, ALineOfAFileStandsInTheQueue) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  const TestBed bed(
      fmt::format("    source: {{ file: {{ path: parcels.jsonl }} }}\n"
                  "    key: json:/id\n"
                  "    handler: {{ sqs: {{ queue_url: \"{}\", {} }} }}\n",
                  server.url(queue), kSqsKeys));
  write_file(bed.file("parcels.jsonl"), "{\"id\":\"k-1\"}\n");
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto posts = server.take_all(queue);
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(posts[0].body, "{\"id\":\"k-1\"}");
}

TEST(SqsPublishProgram, WhatIsQueuedStandsInTheQueueAndIsReadFromItOnce) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  const TestBed bed(to_sqs(server.url(queue), ", honours_key: true"));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("sqs " + queue.substr(0, 20)), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("keyed_retry"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("as one more message; a message is retried"), std::string::npos)
      << checked.out;
  EXPECT_EQ(checked.out.find("hunter2"), std::string::npos) << "the secret";
  send_ids(bed, 200, {"--header", "trace=7"});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "200") << ran.out;
  EXPECT_EQ(server.ready(queue), 200);
  const TestBed reader = reader_of(server.url(queue));
  const Ran read = reader.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_EQ(json_at(read.out, "/effects"), "200") << read.out;
}

TEST(SqsPublishProgram, AQueueThatIsNotThereIsWaitedFor) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = ElasticmqServer::unused_name();
  const TestBed bed(to_sqs(server.url(queue)));
  send_ids(bed, 50);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "there is no queue " + queue)) << runner.err();
  server.make_queue(queue);
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 50); })) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const auto times = bodies_in(server, queue);
  EXPECT_EQ(times.size(), 50U);
  for (const auto& [body, count] : times) EXPECT_EQ(count, 1) << body;
}

// It is killed again and again while it sends; a FIFO queue drops what comes again.
void kill_and_go_on(const ElasticmqServer& server, const TestBed& bed, const std::string& queue) {
  for (int kills = 0; kills < 4; ++kills) {
    const auto before = server.ready(queue);
    Program runner({"run", bed.config(), "-q"});
    ASSERT_TRUE(comes_true([&] { return server.ready(queue) > before + 50; })) << runner.err();
    runner.signal(SIGKILL);
    EXPECT_EQ(runner.wait().signal, SIGKILL);
  }
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_TRUE(all_completed(bed, 3'000));
}

TEST(SqsPublishProgram, AKilledProgramSendsTheRestAndWhoReadsItDoesEachOnce) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  const TestBed bed(to_sqs(server.url(queue)) + "    dedup: { lease: 1s }\n");
  send_ids(bed, 3'000);
  kill_and_go_on(server, bed, queue);
  EXPECT_GE(server.ready(queue), 3'000);
  const TestBed reader = reader_of(server.url(queue));
  const Ran read = reader.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(read.out, "/effects"), "3000") << read.out << read.err;
}

TEST(SqsPublishProgram, AKilledProgramLeavesEachOnceInAFifoQueue) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_fifo_queue();
  const TestBed bed(to_sqs(server.url(queue)) + "    dedup: { lease: 1s }\n");
  const Ran checked = bed.semel({"check"});
  EXPECT_NE(checked.out.find("SQS drops what comes again with this key and payload within 5m"),
            std::string::npos)
      << checked.out;
  send_ids(bed, 3'000);
  kill_and_go_on(server, bed, queue);
  const auto times = bodies_in(server, queue);
  EXPECT_EQ(times.size(), 3'000U);
  for (const auto& [body, count] : times) EXPECT_EQ(count, 1) << body;
}

// The server keeps messages in memory, so what it has is read before it dies: nobody is told any
// more by then that something was taken.
TEST(SqsPublishProgram, AServerThatIsAwayAtTheStartAndKilledInMidRunLosesNothing) {
  ElasticmqServer server;
  server.begin_with("parcels");
  TcpProxy proxy(server.port());
  const TestBed bed(to_sqs(fmt::format("http://127.0.0.1:{}/000000000000/parcels", proxy.port())));
  send_ids(bed, 3'000);
  server.kill();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "no SQS answers")) << runner.err();
  server.start();
  ASSERT_TRUE(comes_true([&] { return server.ready("parcels") > 100; })) << runner.err();
  proxy.refuse(true);
  proxy.cut_all();
  std::set<std::string> seen;
  const auto take = [&] {
    for (const auto& [body, count] : bodies_in(server, "parcels")) seen.insert(body);
  };
  take();
  EXPECT_LT(seen.size(), 3'000U) << "the kill comes too late";
  server.kill();
  server.start();
  proxy.refuse(false);
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 3'000); }, std::chrono::seconds(90)))
      << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  take();
  EXPECT_EQ(seen.size(), 3'000U);
}

TEST(SqsPublishProgram, ADrainWaitsForAnswers) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  const TestBed bed(to_sqs(server.url(queue)));
  send_ids(bed, 2'000);
  Program runner({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return server.ready(queue) > 0; }));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  const auto times = bodies_in(server, queue);
  EXPECT_EQ(times.size(), 2'000U);
  for (const auto& [body, count] : times) EXPECT_EQ(count, 1) << body;
}

TEST(SqsPublishProgram, AServiceThatHangsKeepsNoProgramFromItsEnd) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  TcpProxy proxy(server.port());
  const TestBed bed(
      to_sqs(fmt::format("http://127.0.0.1:{}/000000000000/{}", proxy.port(), queue)));
  send_ids(bed, 20);
  const auto stall = proxy.inject({.text = "SendMessageBatch", .then = TcpProxy::Then::kStall});
  Program runner({"run", bed.config(), "-q", "--drain-timeout", "1s"});
  ASSERT_TRUE(proxy.wait_fired(stall));
  runner.signal(SIGTERM);
  EXPECT_NE(runner.wait(std::chrono::seconds(30)).code, -1) << "it was not killed";
}

// The service takes a batch, and the reused connection dies before its answer.
TEST(SqsPublishProgram, AtMostOnceParksWhatAReusedConnectionLeftWithoutAnAnswer) {
  HttpServer service;
  service.on("/", [](const HttpRequest&, std::size_t times) {
    return times == 1 ? raw("") : reply(200, R"({"Successful":[{"Id":"0","MessageId":"m"}]})");
  });
  const TestBed bed(to_sqs(service.url("/000000000000/parcels")) +
                    "    strategy: at_most_once\n    concurrency: 1\n");
  send_ids(bed, 3);
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto requests = service.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].connection, requests[1].connection) << "the fault needs a reused one";
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_NE(requests[i].body.find(fmt::format("k-{}", i)), std::string::npos)
        << "each is sent once";
  }
  EXPECT_EQ(completed_of(bed), "2");
  const Ran shown = bed.semel({"records", "show", "k-1", "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/records/0/state"), "parked") << shown.out << ran.out;
}

}  // namespace
}  // namespace semel::test
