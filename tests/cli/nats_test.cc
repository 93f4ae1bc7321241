// The program on a NATS stream: what a user sees of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/days_later.h"
#include "tests/cli/nats_test_bed.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

TEST(NatsProgram, AStreamIsAppliedOnceThoughItsProducerSaysThingsTwice) {
  NatsTestBed bed(NatsServer::shared());
  bed.publish(300);
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("nats " + bed.stream()), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("pulls from durable payments of stream " + bed.stream()),
            std::string::npos)
      << checked.out;
  EXPECT_EQ(checked.out.find("right"), std::string::npos) << "the password";
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "300") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "100") << ran.out;
  bed.expect_each_once();
  EXPECT_TRUE(bed.counts().all_done());
  const Ran idle = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(idle.out, "/deliveries"), "0") << "all was acknowledged: " << idle.out;
}

// Nothing of it is in the store yet: only the server knows.
TEST(NatsProgram, AConsumerThatNobodyRunsIsDownWhereMessagesWait) {
  NatsTestBed bed(NatsServer::shared());
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  const auto status = [&](const std::string& set = {}) {
    Words words{"status", "-o", "json"};
    if (!set.empty()) words.insert(words.end(), {"--set", "consumers[0].source.nats." + set});
    return bed.semel(words);
  };
  EXPECT_EQ(json_at(status().out, "/consumers/0/lag"), "0");
  bed.server().publish_bodies(bed.stream(), {payment("p-1", 1, 5), payment("p-2", 2, 5)});
  const Ran down = status();
  EXPECT_EQ(down.code, 1) << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/state"), "down") << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/lag"), "2") << down.out;
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(status().code, 0) << "all of it is done";
  const Ran away = status("url=nats://127.0.0.1:1");
  EXPECT_EQ(away.code, 69) << away.out << away.err;
  EXPECT_EQ(json_at(away.out, "/consumers/0/state"), "unknown") << away.out;
  const Ran missing = status("stream=nowhere");
  EXPECT_EQ(json_at(missing.out, "/consumers/0/state"), "unknown") << missing.out;
  EXPECT_NE(missing.err.find("the stream is not there"), std::string::npos) << missing.err;
  const Ran to_be_made = status("durable=another");
  EXPECT_EQ(json_at(to_be_made.out, "/consumers/0/lag"), "0") << to_be_made.out << to_be_made.err;
}

// Its retry waits in the store: it is acknowledged, and keeps no place of the prefetch.
TEST(NatsProgram, AKeyThatFailsDelaysNobody) {
  NatsTestBed bed(NatsServer::shared(),
                  {.more_of_source = "prefetch: 2", .more = "    retry: { backoff: 1h..2h }\n"});
  std::vector<std::string> failing;
  for (int i = 0; i < 4; ++i) failing.push_back(payment(fmt::format("none-{}", i), 4711, 1));
  bed.server().publish_bodies(bed.stream(), failing);
  bed.publish(50);
  Program runner({"run", bed.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed.all_done(); })) << runner.err();
  EXPECT_TRUE(comes_true([&] { return bed.counts().all_done(); })) << "while it runs";
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(json_at(bed.semel({"records", "show", "none-0", "-o", "json"}).out, "/records/0/state"),
            "retrying");
  bed.expect_each_once();
}

TEST(NatsProgram, ADryRunTakesNothingAndEnds) {
  NatsTestBed bed(NatsServer::shared());
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  bed.publish(30);
  const Ran few = bed.semel(
      {"run", "--dry-run", "-o", "json", "-q", "--set", "consumers[0].source.nats.prefetch=7"});
  EXPECT_EQ(json_at(few.out, "/deliveries"), "7") << "as many as it may have: " << few.out;
  const Ran looked = bed.semel({"run", "--dry-run", "-o", "json", "-q"});
  EXPECT_EQ(looked.code, 0) << looked.err;
  EXPECT_EQ(json_at(looked.out, "/deliveries"), std::to_string(bed.deliveries())) << looked.out;
  EXPECT_EQ(bed.sum(), 0);
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(ran.out, "/deliveries"), std::to_string(bed.deliveries())) << ran.out;
  bed.expect_each_once();
}

TEST(NatsProgram, DoctorComparesTheServersLimitsWithOurs) {
  NatsTestBed bed(NatsServer::shared());
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  const auto& server = bed.server();
  const Ran before = bed.semel({"doctor"});
  EXPECT_EQ(before.code, 0) << before.out << "\nthe durable is yet to be made";
  EXPECT_NE(before.out.find("[note] D123"), std::string::npos) << before.out;
  EXPECT_NE(before.out.find("sync_interval"), std::string::npos) << before.out;
  EXPECT_NE(before.out.find("[note] D102"), std::string::npos) << before.out;
  EXPECT_NE(before.out.find("drops what repeats a Nats-Msg-Id within 2m;"), std::string::npos)
      << before.out;
  server.make_consumer(bed.stream(), "payments", R"(,"ack_wait":1000000000,"max_deliver":6)");
  const Ran tight = bed.semel({"doctor"});
  EXPECT_EQ(tight.code, 1) << tight.out;
  EXPECT_NE(tight.out.find("[fail] D122"), std::string::npos) << tight.out;
  EXPECT_NE(tight.out.find("--max-deliver=-1"), std::string::npos) << tight.out;
  EXPECT_NE(tight.out.find("[note] D121"), std::string::npos) << tight.out;
  server.delete_consumer(bed.stream(), "payments");
  server.make_consumer(bed.stream(), "payments", R"(,"ack_wait":30000000000,"max_deliver":50)");
  const Ran wide = bed.semel({"doctor"});
  EXPECT_EQ(wide.code, 0) << wide.out;
  EXPECT_NE(wide.out.find("[note] D122"), std::string::npos) << wide.out;
  EXPECT_NE(wide.out.find("[ok  ] D121"), std::string::npos) << wide.out;
  server.delete_consumer(bed.stream(), "payments");
  server.make_consumer(bed.stream(), "payments", R"(,"ack_wait":30000000000,"max_deliver":7)");
  const Ran least = bed.semel({"doctor"});
  EXPECT_EQ(least.code, 0) << least.out;
  EXPECT_NE(least.out.find("[note] D122"), std::string::npos) << least.out;
  const Ran away =
      bed.semel({"doctor", "--set", "consumers[0].source.nats.url=nats://127.0.0.1:1"});
  EXPECT_NE(away.out.find("R380"), std::string::npos) << away.out << away.err;
}

void expect_one_nats_refusal(const Ran& ran, const std::string& code, const std::string& what) {
  EXPECT_EQ(ran.code, code == "R380" ? 69 : code == "R385" ? 77 : 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  EXPECT_NE(ran.err.find("error[" + code + "]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
  EXPECT_EQ((ran.out + ran.err).find("hunter2"), std::string::npos) << ran.err;
}

TEST(NatsRefusals, EachIsOneErrorWithItsFix) {
  const auto& server = NatsServer::shared();
  const NatsTestBed bed(server);
  expect_one_nats_refusal(bed.run_with("stream=no-such-stream"), "R384", "no-such-stream");
  expect_one_nats_refusal(bed.run_with("url=" + server.url("owner:hunter2")), "R381", "login");
  expect_one_nats_refusal(bed.run_with("url=" + server.url("bare:right")), "R383", "JetStream");
  expect_one_nats_refusal(bed.run_with("url=" + server.url("reader:right")), "R385", "ermissions");
  server.make_consumer(bed.stream(), "all", R"(,"ack_policy":"all")");
  expect_one_nats_refusal(bed.run_with("durable=all"), "R386", "ack policy all");
  expect_one_nats_refusal(bed.run_with("url=nats://owner:hunter2@127.0.0.1:1"), "R380",
                          "127.0.0.1:1");
}

// The example of docs/sources/nats.md, and the starters.
TEST(NatsPage, TheExampleAndTheStartersAreAccepted) {
  const std::string file = input("tests/cli/nats/semel.yaml");
  const Ran checked = run({"check", file});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const TempDir folder;
  for (const char* words : {"nats/sql/sqlite", "nats/sql/postgres", "nats/http/redis"}) {
    write_file(folder.file("semel.yaml"), run({"init", words}).out);
    const Ran started = run({"check", folder.file("semel.yaml")});
    EXPECT_EQ(started.code, 0) << words << started.out << started.err;
    EXPECT_NE(started.out.find("at localhost:4222"), std::string::npos) << started.out;
  }
}

// A durable that is made anew brings all of the stream.
TEST(NatsAgeGate, DiscardsHandlesOrParksWhatWasHandledAndForgotten) {
  constexpr std::size_t kPayments = 20;
  const NatsTestBed bed(NatsServer::shared(), {.more = "    dedup: { ttl: 14d }\n",
                                               .stream = R"(,"max_age":1209600000000000)"});
  bed.server().publish_bodies(bed.stream(), some_payments(kPayments));
  expect_age_gate(
      {.config = bed.config(),
       .count = kPayments,
       .in_time = 12,
       .too_old = 30,
       .come_again = [&] { bed.server().delete_consumer(bed.stream(), NatsTestBed::kDurable); },
       .effects = [&] { return bed.number("SELECT count(*) FROM effect"); },
       .nothing_left = [&] { return bed.counts().all_done(); }});
}

TEST(NatsAgeGate, IsOpenWhereTheStreamKeepsItsMessagesForEver) {
  const NatsTestBed bed(NatsServer::shared());
  bed.server().publish_bodies(bed.stream(), some_payments(3));
  const Ran ran = days_later(30, {"run", "--once", "-o", "json", "-q", "-c", bed.config()});
  EXPECT_EQ(json_at(ran.out, "/effects"), "3") << ran.out << ran.err;
}

struct NatsKeyCase {
  const char* key;
  NatsServer::Post post;
};

class NatsKeys : public ::testing::TestWithParam<int> {
 protected:
  static const std::vector<NatsKeyCase>& cases() {
    static const std::string plain = R"({"id":"i-1","account":1,"amount":5})";
    static const std::vector<NatsKeyCase> all = {
        {"broker_key", {.body = plain, .id = "m-1"}},
        {"auto", {.body = plain, .id = "m-1"}},
        {"header:X-Id", {.body = plain, .headers = {{"x-id", "h-1"}}}},
        {"cloudevents",
         {.body = plain,
          .headers = {{"ce-specversion", "1.0"}, {"ce-source", "/shop"}, {"ce-id", "e-1"}}}},
        {"cloudevents",
         {.body = R"({"specversion":"1.0","source":"/shop","id":"e-2","type":"paid",)"
                  R"("account":1,"amount":5})",
          .headers = {{"Content-Type", "application/cloudevents+json"}}}},
        {"json:/id", {.body = plain}}};
    return all;
  }
};

// Within its window the server drops what has the same Nats-Msg-Id, so the copy is one that a
// durable brings which was made anew.
TEST_P(NatsKeys, AreFoundWhereTheProducerPutThem) {
  const NatsKeyCase& one = cases().at(static_cast<std::size_t>(GetParam()));
  const NatsTestBed bed(NatsServer::shared(), {.key = one.key});
  bed.server().publish(bed.stream(), {one.post});
  const Ran first = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(first.out, "/effects"), "1") << first.out << first.err;
  bed.server().delete_consumer(bed.stream(), NatsTestBed::kDurable);
  const Ran second = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(second.out, "/effects"), "0") << second.out << second.err;
  EXPECT_EQ(json_at(second.out, "/duplicates"), "1") << second.out << second.err;
  EXPECT_EQ(bed.sum(), 5);
}

INSTANTIATE_TEST_SUITE_P(Places, NatsKeys, ::testing::Range(0, 6));

}  // namespace
}  // namespace semel::test
