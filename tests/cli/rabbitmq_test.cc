// The program on a RabbitMQ queue: what a user sees of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/rabbitmq_test_bed.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

class RabbitmqProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(RabbitmqProgram, AQueueIsAppliedOnceThoughItsProducerSaysThingsTwice) {
  RabbitmqTestBed bed(RabbitmqServer::shared(), {.type = GetParam()});
  bed.publish(300);
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("rabbitmq " + bed.queue()), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("consumes in vhost / at 127.0.0.1:"), std::string::npos)
      << checked.out;
  EXPECT_EQ(checked.out.find("right"), std::string::npos) << "the password";
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "300") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "100") << ran.out;
  bed.expect_each_once();
  const Ran idle = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(idle.out, "/deliveries"), "0") << "all was acknowledged: " << idle.out;
}

INSTANTIATE_TEST_SUITE_P(Queues, RabbitmqProgram, ::testing::Values("quorum", "classic"),
                         [](const auto& info) { return std::string(info.param); });

// Nothing of it is in the store yet: only the broker knows.
TEST(RabbitmqRun, AConsumerThatNobodyRunsIsDownWhereMessagesWait) {
  RabbitmqTestBed bed(RabbitmqServer::shared());
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const auto status = [&](Words more = {}) {
    Words words{"status", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return bed.semel(words);
  };
  const Ran empty = status();
  EXPECT_EQ(empty.code, 0) << empty.out << empty.err;
  EXPECT_EQ(json_at(empty.out, "/consumers/0/lag"), "0") << empty.out;
  bed.server().publish_bodies(bed.queue(), {payment("p-1", 1, 5), payment("p-2", 2, 5)});
  ASSERT_TRUE(comes_true([&] { return bed.server().messages(bed.queue()) == 2; }));
  const Ran down = status();
  EXPECT_EQ(down.code, 1) << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/state"), "down") << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/lag"), "2") << down.out;
  EXPECT_NE(down.err.find("is down"), std::string::npos) << down.err;
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(status().code, 0) << "all of it is done";

  const std::string at = "consumers[0].source.rabbitmq.";
  const Ran away = status({"--set", at + "url=amqp://127.0.0.1:1"});
  EXPECT_EQ(away.code, 69) << away.out << away.err;
  EXPECT_EQ(json_at(away.out, "/consumers/0/state"), "unknown") << away.out;
  const Ran missing = status({"--set", at + "queue=nowhere"});
  EXPECT_EQ(json_at(missing.out, "/consumers/0/state"), "unknown") << missing.out;
  EXPECT_NE(missing.err.find("the queue is not there"), std::string::npos) << missing.err;
  const Ran to_be_made = status({"--set", at + "queue=nowhere", "--set", at + "declare=true"});
  EXPECT_EQ(json_at(to_be_made.out, "/consumers/0/lag"), "0") << to_be_made.out << to_be_made.err;
}

TEST(RabbitmqDoctor, LogsInAndAsksForTheQueue) {
  RabbitmqTestBed bed(RabbitmqServer::shared());
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  bed.server().publish_bodies(bed.queue(), {payment("p-1", 1, 5)});
  ASSERT_TRUE(comes_true([&] { return bed.server().messages(bed.queue()) == 1; }));
  const Ran fine = bed.semel({"doctor"});
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  EXPECT_NE(
      fine.out.find("[ok  ] D139  payments: queue " + bed.queue() + " is there; messages ready: 1"),
      std::string::npos)
      << fine.out;
  EXPECT_EQ(bed.server().depth(bed.queue()), 1) << "nothing was consumed";

  const std::string at = "consumers[0].source.rabbitmq.";
  const auto expect_found = [&](const std::string& set, const std::string& finding) {
    const Ran told = bed.semel({"doctor", "--set", at + set});
    EXPECT_EQ(told.code, 1) << told.out << told.err;
    EXPECT_NE(told.out.find("[fail] " + finding), std::string::npos) << told.out;
    EXPECT_EQ(told.out.find("hunter2"), std::string::npos) << told.out;
  };
  expect_found("queue=nowhere", "R314  payments: the queue is not there");
  expect_found("url=" + bed.server().url_of("owner:hunter2", "%2F"), "R311  payments: ");
  expect_found("url=amqp://127.0.0.1:1", "R310  payments: no RabbitMQ broker answers");

  const Ran to_be_made =
      bed.semel({"doctor", "--set", at + "queue=nowhere", "--set", at + "declare=true"});
  EXPECT_EQ(to_be_made.code, 0) << to_be_made.out << to_be_made.err;
  EXPECT_NE(to_be_made.out.find("[note] D139"), std::string::npos) << to_be_made.out;
  expect_found("queue=nowhere", "R314");  // it was not made
}

// Its retry waits in the store: it is settled at the broker, and keeps no place of the prefetch.
TEST(RabbitmqRun, AKeyThatFailsDelaysNobody) {
  RabbitmqTestBed bed(RabbitmqServer::shared(), {.more_of_source = "prefetch: 2",
                                                 .more = "    retry: { backoff: 1h..2h }\n"});
  std::vector<std::string> failing;
  for (int i = 0; i < 4; ++i) failing.push_back(payment(fmt::format("none-{}", i), 4711, 1));
  bed.server().publish_bodies(bed.queue(), failing);
  bed.publish(50);
  Program runner({"run", bed.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner.err();
  EXPECT_TRUE(comes_true([&] { return bed.server().messages(bed.queue()) == 0; }))
      << "while it runs";
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(json_at(bed.semel({"records", "show", "none-0", "-o", "json"}).out, "/records/0/state"),
            "retrying");
  bed.expect_each_once();
}

TEST(RabbitmqRun, DeclareMakesTheQueueThatIsNotThere) {
  const auto& server = RabbitmqServer::shared();
  const RabbitmqTestBed bed(server);
  for (const char* type : {"quorum", "classic"}) {
    const std::string queue = RabbitmqServer::unused_name();
    const Ran ran =
        bed.semel({"run", "--once", "-q", "--set", "consumers[0].source.rabbitmq.queue=" + queue,
                   "--set", "consumers[0].source.rabbitmq.declare=true", "--set",
                   std::string("consumers[0].source.rabbitmq.queue_type=") + type});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(server.depth(queue), 0);
    EXPECT_NO_THROW(server.make_queue(queue, type)) << "durable, and of this type";
    server.delete_queue(queue);
  }
}

TEST(RabbitmqRun, ADryRunTakesNothingAndEnds) {
  RabbitmqTestBed bed(RabbitmqServer::shared());
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  bed.publish(30);
  const Ran few = bed.semel(
      {"run", "--dry-run", "-o", "json", "-q", "--set", "consumers[0].source.rabbitmq.prefetch=7"});
  EXPECT_EQ(json_at(few.out, "/deliveries"), "7") << "as many as it may have: " << few.out;
  const Ran looked = bed.semel({"run", "--dry-run", "-o", "json", "-q"});
  EXPECT_EQ(looked.code, 0) << looked.err;
  EXPECT_EQ(json_at(looked.out, "/deliveries"), std::to_string(bed.deliveries())) << looked.out;
  EXPECT_EQ(bed.sum(), 0);
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(ran.out, "/deliveries"), std::to_string(bed.deliveries())) << ran.out;
  bed.expect_each_once();
}

void expect_one_refusal(const Ran& ran, const std::string& code, const std::string& what) {
  EXPECT_EQ(ran.code, code == "R310" ? 69 : code == "R315" ? 77 : 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  EXPECT_NE(ran.err.find("error[" + code + "]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
  EXPECT_EQ((ran.out + ran.err).find("hunter2"), std::string::npos) << ran.err;
}

TEST(RabbitmqRefusals, EachIsOneErrorWithItsFix) {
  const auto& server = RabbitmqServer::shared();
  const RabbitmqTestBed bed(server);
  const auto at = [&](const std::string& account, const std::string& vhost) {
    return bed.run_with("url=" + server.url_of(account, vhost));
  };
  expect_one_refusal(bed.run_with("queue=no-such-queue"), "R314", "no-such-queue");
  expect_one_refusal(at("owner:hunter2", "%2F"), "R311", "password");
  expect_one_refusal(at("owner:right", "nowhere"), "R313", "nowhere");
  expect_one_refusal(at("stranger:right", "%2F"), "R313", "stranger");
  const Ran declared =
      bed.semel({"run", "--once", "-q", "--set", "consumers[0].source.rabbitmq.declare=true",
                 "--set", "consumers[0].source.rabbitmq.queue_type=classic"});
  expect_one_refusal(declared, "R316", "x-queue-type");
  const Ran no_right =
      bed.semel({"run", "--once", "-q", "--set",
                 "consumers[0].source.rabbitmq.url=" + server.url_of("reader:right", "%2F"),
                 "--set", "consumers[0].source.rabbitmq.queue=" + RabbitmqServer::unused_name(),
                 "--set", "consumers[0].source.rabbitmq.declare=true"});
  expect_one_refusal(no_right, "R315", "reader");
  const Ran reader = at("reader:right", "%2F");
  EXPECT_EQ(reader.code, 0) << "reading is enough: " << reader.err;
  const std::string stream = server.new_queue("stream");
  server.publish_bodies(stream, {"{}"});
  server.delete_queue(stream);
}

TEST(RabbitmqRefusals, NobodyAtThatPlaceEndsOneRunAfterAWhile) {
  const RabbitmqTestBed bed(RabbitmqServer::shared());
  const Ran ran = bed.run_with("url=amqp://owner:hunter2@127.0.0.1:1");
  expect_one_refusal(ran, "R310", "127.0.0.1:1");
}

TEST(RabbitmqRefusals, ADeliveryTagAsKeyIsRefusedByCheck) {
  const RabbitmqTestBed bed(RabbitmqServer::shared(), {.key = "position"});
  const Ran ran = bed.semel({"check"});
  EXPECT_EQ(ran.code, 78) << ran.out;
  EXPECT_NE(ran.out.find("E029"), std::string::npos) << ran.out;
}

// The example of docs/sources/rabbitmq.md, and the starters.
TEST(RabbitmqPage, TheExampleAndTheStartersAreAccepted) {
  const std::string file = input("tests/cli/rabbitmq/semel.yaml");
  const Ran checked = run({"check", file});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const TempDir folder;
  for (const char* words :
       {"rabbitmq/sql/sqlite", "rabbitmq/sql/postgres", "rabbitmq/http/redis"}) {
    write_file(folder.file("semel.yaml"), run({"init", words}).out);
    const Ran started = run({"check", folder.file("semel.yaml")});
    EXPECT_EQ(started.code, 0) << words << started.out << started.err;
    EXPECT_NE(started.out.find("consumes in vhost / at localhost:5672"), std::string::npos)
        << started.out;
  }
}

struct RabbitmqKeyCase {
  const char* key;
  RabbitmqServer::Post post;
};

class RabbitmqKeys : public ::testing::TestWithParam<int> {
 protected:
  static const std::vector<RabbitmqKeyCase>& cases() {
    static const std::string plain = R"({"id":"i-1","account":1,"amount":5})";
    static const std::vector<RabbitmqKeyCase> all = {
        {"broker_key", {.body = plain, .message_id = "m-1"}},
        {"auto", {.body = plain, .message_id = "m-1"}},
        {"header:amqp-correlation-id", {.body = plain, .correlation_id = "c-1"}},
        {"header:X-Id", {.body = plain, .headers = {{"x-id", "h-1"}}}},
        {"cloudevents",
         {.body = plain,
          .headers = {{"cloudEvents:specversion", "1.0"},
                      {"cloudEvents:source", "/shop"},
                      {"cloudEvents:id", "e-1"}}}},
        {"cloudevents",
         {.body = R"({"specversion":"1.0","source":"/shop","id":"e-2","type":"paid",)"
                  R"("account":1,"amount":5})",
          .content_type = "application/cloudevents+json"}},
        {"json:/id", {.body = plain}}};
    return all;
  }
};

TEST_P(RabbitmqKeys, AreFoundWhereTheProducerPutThem) {
  const RabbitmqKeyCase& one = cases().at(static_cast<std::size_t>(GetParam()));
  // The id of its effect is the payload's, or the event's.
  const RabbitmqTestBed bed(RabbitmqServer::shared(), {.key = one.key});
  bed.server().publish(bed.queue(), {one.post, one.post});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(ran.out, "/effects"), "1") << ran.out << ran.err;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "1") << ran.out << ran.err;
  EXPECT_EQ(bed.sum(), 5);
}

INSTANTIATE_TEST_SUITE_P(Places, RabbitmqKeys, ::testing::Range(0, 7));

}  // namespace
}  // namespace semel::test
