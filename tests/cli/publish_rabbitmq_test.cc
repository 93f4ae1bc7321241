// Messages published to RabbitMQ by the real program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/publish_bed.h"
#include "tests/support/rabbitmq_server.h"

namespace semel::test {
namespace {

// `timeout`: what a broker took after it is published again.
std::string to_queue(const std::string& url, const std::string& route,
                     const std::string& timeout = "60s") {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    timeout: {}\n"
      "    retry: {{ backoff: 50ms..500ms }}\n"
      "    handler: {{ rabbitmq: {{ url: \"{}\", {} }} }}\n",
      timeout, url, route);
}

std::map<std::string, int> message_ids(const std::vector<RabbitmqServer::Post>& posts) {
  std::map<std::string, int> times;
  for (const auto& post : posts) ++times[post.message_id];
  return times;
}

TEST(RabbitmqPublishProgram, WhatIsQueuedStandsInTheQueueWithIdsAndHeaders) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue("classic");
  const TestBed bed(to_queue(server.url(), "honours_key: true, queue: " + queue));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("rabbitmq " + queue), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("keyed_retry"), std::string::npos) << checked.out;
  EXPECT_EQ(checked.out.find("right"), std::string::npos) << "the password";
  send_ids(bed, 200, {"--header", "trace=7"});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "200") << ran.out;
  const auto posts = server.take_all(queue);
  ASSERT_EQ(posts.size(), 200U);
  EXPECT_EQ(message_ids(posts).size(), 200U);
  for (const auto& post : posts) {
    // The broker adds its own.
    EXPECT_EQ(std::ranges::count(post.headers, std::pair<std::string, std::string>("trace", "7")),
              1);
    EXPECT_TRUE(post.persistent);
  }
}

TEST(RabbitmqPublishProgram, WhatNoQueueTakesWaitsForItsQueue) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = RabbitmqServer::unused_name();
  const TestBed bed(to_queue(server.url(), "queue: " + queue));
  send_ids(bed, 50);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "has no queue for routing key \"" + queue)) << runner.err();
  server.make_queue(queue, "quorum");
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 50); })) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const auto times = message_ids(server.take_all(queue));
  EXPECT_EQ(times.size(), 50U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
  server.delete_queue(queue);
}

TEST(RabbitmqPublishProgram, ABrokerThatIsAwayAtTheStartAndKilledInMidRunLosesNothing) {
  RabbitmqServer server;
  const std::string queue = server.new_queue("classic");
  const TestBed bed(to_queue(server.url(), "queue: " + queue, "5s"));
  send_ids(bed, 3'000);
  server.kill();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "no RabbitMQ broker answers")) << runner.err();
  server.start();
  ASSERT_TRUE(comes_true([&] { return server.depth(queue) > 100; }));
  server.kill();
  server.start();
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 3'000); }, std::chrono::seconds(90)))
      << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(message_ids(server.take_all(queue)).size(), 3'000U);
}

TEST(RabbitmqPublishProgram, ADrainWaitsForConfirms) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue("classic");
  const TestBed bed(to_queue(server.url(), "queue: " + queue));
  send_ids(bed, 2'000);
  Program runner({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return server.depth(queue) > 0; }));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  const auto times = message_ids(server.take_all(queue));
  EXPECT_EQ(times.size(), 2'000U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
}

TEST(RabbitmqPublishProgram, AWrongPasswordIsSaidAndCostsNoAttempt) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue("classic");
  const TestBed bed(to_queue(server.url_of("owner:wrong-hunter2", "%2F"), "queue: " + queue));
  send_ids(bed, 10);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "refuses the login")) << runner.err();
  runner.signal(SIGTERM);
  runner.wait();
  EXPECT_EQ(runner.err().find("hunter2"), std::string::npos);
  const Ran mended = bed.semel(
      {"run", "--once", "-q", "--set", "consumers[0].handler.rabbitmq.url=" + server.url()});
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_EQ(server.take_all(queue).size(), 10U);
}

}  // namespace
}  // namespace semel::test
