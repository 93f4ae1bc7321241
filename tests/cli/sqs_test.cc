// The program on an SQS queue: what a user sees of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/days_later.h"
#include "tests/cli/sqs_test_bed.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

class SqsProgram : public ::testing::TestWithParam<bool> {};

TEST_P(SqsProgram, AQueueIsAppliedOnceThoughItsProducerSaysThingsTwice) {
  SqsTestBed bed(ElasticmqServer::shared(), {.fifo = GetParam()});
  bed.publish(300);
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("sqs " + bed.queue()), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find(GetParam() ? "reads the FIFO queue" : "reads the standard queue"),
            std::string::npos)
      << checked.out;
  EXPECT_EQ(checked.out.find("hunter2"), std::string::npos) << "the secret";
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "300") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "100") << ran.out;
  bed.expect_each_once();
  EXPECT_TRUE(bed.is_empty());
  const Ran idle = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(idle.out, "/deliveries"), "0") << "all was deleted: " << idle.out;
}

INSTANTIATE_TEST_SUITE_P(Queues, SqsProgram, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Fifo" : "Standard"; });

TEST(SqsRun, AConsumerThatNobodyRunsIsDownWhereMessagesWait) {
  SqsTestBed bed(ElasticmqServer::shared());
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const auto status = [&](Words more = {}) {
    Words words{"status", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return bed.semel(words);
  };
  EXPECT_EQ(json_at(status().out, "/consumers/0/lag"), "0");
  bed.server().send_bodies(bed.queue(), {payment("p-1", 1, 5), payment("p-2", 2, 5)});
  const Ran down = status();
  EXPECT_EQ(down.code, 1) << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/state"), "down") << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/lag"), "2") << down.out;
  const std::string at = "consumers[0].source.sqs.";
  const Ran away = status({"--set", at + "queue_url=http://127.0.0.1:1/0/payments"});
  EXPECT_EQ(away.code, 69) << away.out << away.err;
  EXPECT_EQ(json_at(away.out, "/consumers/0/state"), "unknown") << away.out;
}

// Its retry waits in the store: it is deleted at the server, and keeps no place of the prefetch.
TEST(SqsRun, AKeyThatFailsDelaysNobody) {
  SqsTestBed bed(ElasticmqServer::shared(),
                 {.more_of_source = "prefetch: 2", .more = "    retry: { backoff: 1h..2h }\n"});
  std::vector<std::string> failing;
  for (int i = 0; i < 4; ++i) failing.push_back(payment(fmt::format("none-{}", i), 4711, 1));
  bed.server().send_bodies(bed.queue(), failing);
  bed.publish(50);
  Program runner({"run", bed.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner.err();
  EXPECT_TRUE(comes_true([&] { return bed.is_empty(); })) << "while it runs";
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(json_at(bed.semel({"records", "show", "none-0", "-o", "json"}).out, "/records/0/state"),
            "retrying");
  bed.expect_each_once();
}

TEST(SqsRun, ADryRunTakesNothingAndEnds) {
  SqsTestBed bed(ElasticmqServer::shared());
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  bed.publish(30);
  const Ran few = bed.semel(
      {"run", "--dry-run", "-o", "json", "-q", "--set", "consumers[0].source.sqs.prefetch=7"});
  EXPECT_EQ(json_at(few.out, "/deliveries"), "7") << "as many as it may have: " << few.out;
  const Ran looked = bed.semel({"run", "--dry-run", "-o", "json", "-q"});
  EXPECT_EQ(looked.code, 0) << looked.err;
  EXPECT_EQ(json_at(looked.out, "/deliveries"), std::to_string(bed.deliveries())) << looked.out;
  EXPECT_EQ(bed.sum(), 0);
  EXPECT_EQ(bed.server().ready(bed.queue()), static_cast<std::int64_t>(bed.deliveries()))
      << "all of it is given back";
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(ran.out, "/deliveries"), std::to_string(bed.deliveries())) << ran.out;
  bed.expect_each_once();
}

void expect_one_sqs_refusal(const Ran& ran, const std::string& code, int exit,
                            const std::string& what) {
  EXPECT_EQ(ran.code, exit) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  EXPECT_NE(ran.err.find("error[" + code + "]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
  EXPECT_EQ((ran.out + ran.err).find("hunter2"), std::string::npos) << ran.err;
}

TEST(SqsRefusals, EachIsOneErrorWithItsFix) {
  const auto& server = ElasticmqServer::shared();
  const SqsTestBed bed(server);
  const Ran missing = bed.run_with("queue_url=" + server.url("no-such-queue"));
  expect_one_sqs_refusal(missing, "R394", 78, "no-such-queue");
  EXPECT_NE(missing.err.find("fix: "), std::string::npos) << missing.err;
  expect_one_sqs_refusal(bed.run_with("queue_url=http://127.0.0.1:1/0/payments"), "R390", 69,
                         "127.0.0.1:1");
}

TEST(SqsDoctor, SaysWhoseDeadLettersComeFirst) {
  const auto& server = ElasticmqServer::shared();
  const std::string dead = server.new_queue();
  const auto queue_with = [&](const std::string& receives) {
    return server.new_queue(
        {{"RedrivePolicy", fmt::format(R"({{"deadLetterTargetArn":)"
                                       R"("arn:aws:sqs:elasticmq:000000000000:{}",)"
                                       R"("maxReceiveCount":"{}"}})",
                                       dead, receives)}});
  };
  const SqsTestBed quick(server, {.queue = queue_with("6")});
  ASSERT_EQ(quick.semel({"store", "init"}).code, 0);
  const Ran told = quick.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D122"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("maxReceiveCount 7 or more"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("[ok  ] D102"), std::string::npos) << told.out;
  const SqsTestBed patient(server, {.queue = queue_with("7")});
  ASSERT_EQ(patient.semel({"store", "init"}).code, 0);
  const Ran fine = patient.semel({"doctor"});
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  EXPECT_NE(fine.out.find("[ok  ] D122"), std::string::npos) << fine.out;
}

// The example of docs/sources/sqs.md, and the starters.
TEST(SqsPage, TheExampleAndTheStartersAreAccepted) {
  const std::string file = input("tests/cli/sqs/semel.yaml");
  const Ran checked = run({"check", file});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const TempDir folder;
  for (const char* words : {"sqs/sql/sqlite", "sqs/sql/postgres", "sqs/http/redis"}) {
    write_file(folder.file("semel.yaml"), run({"init", words}).out);
    const Ran started = run({"check", folder.file("semel.yaml")});
    EXPECT_EQ(started.code, 0) << words << started.out << started.err;
    EXPECT_NE(started.out.find("sqs.eu-west-1.amazonaws.com in region eu-west-1"),
              std::string::npos)
        << started.out;
  }
}

struct SqsKeyCase {
  const char* key;
  ElasticmqServer::Post post;
};

class SqsKeys : public ::testing::TestWithParam<int> {
 protected:
  static const std::vector<SqsKeyCase>& cases() {
    static const std::string plain = R"({"id":"i-1","account":1,"amount":5})";
    static const std::vector<SqsKeyCase> all = {
        {"header:X-Id", {.body = plain, .headers = {{"x-id", "h-1"}}}},
        {"auto", {.body = plain, .headers = {{"Idempotency-Key", "k-1"}}}},
        {"cloudevents",
         {.body = plain,
          .headers = {{"ce-specversion", "1.0"}, {"ce-source", "/shop"}, {"ce-id", "e-1"}}}},
        {"json:/id", {.body = plain}}};
    return all;
  }
};

TEST_P(SqsKeys, AreFoundWhereTheProducerPutThem) {
  const SqsKeyCase& one = cases().at(static_cast<std::size_t>(GetParam()));
  const SqsTestBed bed(ElasticmqServer::shared(), {.key = one.key});
  bed.server().send(bed.queue(), {one.post, one.post});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(ran.out, "/effects"), "1") << ran.out << ran.err;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "1") << ran.out << ran.err;
  EXPECT_EQ(bed.sum(), 5);
}

INSTANTIATE_TEST_SUITE_P(Places, SqsKeys, ::testing::Range(0, 4));

// A producer that sends its messages again, and a consumer that was away.
TEST(SqsAgeGate, DiscardsHandlesOrParksWhatWasHandledAndForgotten) {
  constexpr std::size_t kPayments = 20;
  const SqsTestBed bed(ElasticmqServer::shared());
  const auto send = [&] { bed.server().send_bodies(bed.queue(), some_payments(kPayments)); };
  send();
  expect_age_gate({.config = bed.config(),
                   .count = kPayments,
                   .in_time = 20,
                   .too_old = 60,
                   .come_again = send,
                   .effects = [&] { return bed.number("SELECT count(*) FROM effect"); },
                   .nothing_left = [&] { return bed.is_empty(); }});
}

// The server drops a second one within five minutes; the record knows the id for as long as its
// ttl.
TEST(SqsKey, IsTheDeduplicationIdWhereItIsAskedFor) {
  const auto& server = ElasticmqServer::shared();
  const SqsTestBed bed(server, {.fifo = true, .key = "broker_key"});
  const auto post = [&](const std::string& id) {
    server.send(bed.queue(),
                {{.body = payment("p-" + id, 1, 5), .group = "1", .deduplication = id}});
  };
  post("d-1");
  post("d-1");
  post("d-2");
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(ran.out, "/effects"), "2") << ran.out << ran.err;
  EXPECT_EQ(json_at(bed.semel({"records", "show", "d-1", "-o", "json"}).out, "/records/0/state"),
            "completed");
}

}  // namespace
}  // namespace semel::test
