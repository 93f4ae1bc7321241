// The program on a Kafka topic: what a user sees of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/kafka_test_bed.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

class KafkaProgram : public ::testing::TestWithParam<DatabaseKind> {};

TEST_P(KafkaProgram, ATopicIsAppliedOnceThoughAllOfItComesAgain) {
  KafkaTestBed bed(GetParam(), KafkaServer::shared());
  bed.produce(300);
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("kafka " + bed.topic()), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("reads as group " + bed.group()), std::string::npos) << checked.out;
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "300") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), "100") << ran.out;
  bed.expect_each_once();
  EXPECT_TRUE(bed.all_committed()) << "a drain tells the broker";
  const Ran idle = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(idle.out, "/deliveries"), "0") << idle.out;
  bed.expect_nothing_happens_again();
}

// Its retry waits in the store: the partition's offset goes on.
TEST_P(KafkaProgram, AKeyThatFailsDelaysNobodyAndPinsNoPartition) {
  KafkaTestBed bed(GetParam(), KafkaServer::shared(),
                   {.partitions = 1, .more = "    retry: { backoff: 1h..2h }\n"});
  bed.server().produce_values(bed.topic(), {payment("no-account", 4711, 1)});
  bed.produce(100);
  Program runner({"run", bed.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed.sum() == bed.produced_sum(); }));
  EXPECT_TRUE(comes_true([&] { return bed.all_committed(); })) << "while it runs";
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(
      json_at(bed.semel({"records", "show", "no-account", "-o", "json"}).out, "/records/0/state"),
      "retrying");
  bed.expect_each_once();
}

// Nothing of it is in the store yet: only the brokers know.
TEST_P(KafkaProgram, AConsumerThatNobodyRunsIsDownWhereMessagesWait) {
  KafkaTestBed bed(GetParam(), KafkaServer::shared());
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const Ran empty = bed.semel({"status", "-o", "json"});
  EXPECT_EQ(empty.code, 0) << empty.out << empty.err;
  EXPECT_EQ(json_at(empty.out, "/consumers/0/lag"), "0") << empty.out;
  bed.produce(10);
  const Ran down = bed.semel({"status", "-o", "json"});
  EXPECT_EQ(down.code, 1) << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/state"), "down") << down.out;
  EXPECT_EQ(json_at(down.out, "/consumers/0/lag"), std::to_string(bed.deliveries()));
  EXPECT_NE(down.err.find("is down"), std::string::npos) << down.err;
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed.semel({"status"}).code, 0) << "all of it is done";
  const Ran away =
      bed.semel({"status", "-o", "json", "--set", "consumers[0].source.kafka.brokers=127.0.0.1:1"});
  EXPECT_EQ(away.code, 69) << away.out << away.err;
  EXPECT_EQ(json_at(away.out, "/consumers/0/state"), "unknown") << away.out;
}

INSTANTIATE_TEST_SUITE_P(Stores, KafkaProgram,
                         ::testing::Values(DatabaseKind::kSqlite, DatabaseKind::kPostgres),
                         [](const auto& info) { return name_of_ground(info.param); });

Ran run_with(const KafkaTestBed& bed, const std::string& set) {
  return bed.semel({"run", "--once", "-q", "--set", "consumers[0].source.kafka." + set});
}

std::string login(const std::string& user, const std::string& password) {
  return fmt::format(
      "properties={{security.protocol: sasl_plaintext, sasl.mechanism: PLAIN, sasl.username: {}, "
      "sasl.password: {}}}",
      user, password);
}

void expect_refused_with(const Ran& ran, const std::string& code, const std::string& what) {
  EXPECT_EQ(ran.code, code == "R304" ? 77 : 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error["), 1U) << ran.err;
  EXPECT_NE(ran.err.find("error[" + code + "]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
}

TEST(KafkaRefusals, EachIsOneErrorWithItsFix) {
  const KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared());
  expect_refused_with(run_with(bed, "topics=[no-such-topic]"), "R303", "no-such-topic");
  expect_refused_with(run_with(bed, "properties={sesion.timeout.ms: 6000}"), "R308",
                      "sesion.timeout.ms");
  const auto at_login = [&](const std::string& properties) {
    return bed.semel({"run", "--once", "-q", "--set",
                      "consumers[0].source.kafka.brokers=" + KafkaServer::shared().login_brokers(),
                      "--set", "consumers[0].source.kafka." + properties});
  };
  const Ran wrong = at_login(login("owner", "hunter2"));
  expect_refused_with(wrong, "R301", "sasl.password");
  EXPECT_EQ((wrong.out + wrong.err).find("hunter2"), std::string::npos);
  expect_refused_with(at_login(login("stranger", "right")), "R304", "this user may not");
  const Ran right = at_login(login("owner", "right"));
  EXPECT_EQ(right.code, 0) << right.err;
}

TEST(KafkaRefusals, ASettingThatBreaksThePromiseIsRefusedByCheck) {
  const KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(),
                         {.properties = "enable.auto.commit: true"});
  const Ran ran = bed.semel({"check"});
  EXPECT_EQ(ran.code, 78) << ran.out;
  EXPECT_NE(ran.out.find("E027"), std::string::npos) << ran.out;
}

// The example of docs/sources/kafka.md, and the starters.
TEST(KafkaPage, TheExampleAndTheStartersAreAccepted) {
  const std::string file = input("tests/cli/kafka/semel.yaml");
  const Ran checked = run({"check", file});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const TempDir folder;
  for (const char* words : {"kafka/sql/sqlite", "kafka/sql/postgres", "kafka/http/redis"}) {
    write_file(folder.file("semel.yaml"), run({"init", words}).out);
    const Ran started = run({"check", folder.file("semel.yaml")});
    EXPECT_EQ(started.code, 0) << words << started.out << started.err;
    EXPECT_NE(started.out.find("reads as group payments at localhost:9092"), std::string::npos)
        << started.out;
  }
}

// So often a run asks a broker that is away before it is looked at what it said of it.
constexpr int kAskedOfKafka = 3;

// Something listens at the broker's port meanwhile and hangs up, as a proxy does.
TEST(KafkaBroker, ThatIsAwayIsSaidOnceAndWaitedFor) {
  constexpr std::size_t kOutages = 3;
  KafkaServer server;
  KafkaTestBed bed(DatabaseKind::kSqlite, server);
  bed.produce(30);
  server.kill();
  Program runner({"run", bed.config(), "-q"});
  for (std::size_t outage = 1; outage <= kOutages; ++outage) {
    if (outage > 1) server.kill();
    EXPECT_TRUE(turn_away(server.port(), kAskedOfKafka)) << "it asks again";
    EXPECT_TRUE(comes_true([&] { return count_of(runner.err(), "error[R300]") == outage; }))
        << outage << ": " << runner.err();
    server.start();
    bed.produce(30);
    EXPECT_TRUE(comes_true([&] { return bed.sum() == bed.produced_sum(); })) << runner.err();
    EXPECT_TRUE(comes_true([&] { return count_of(runner.err(), "works again") == outage; }))
        << outage << ": " << runner.err();
  }
  EXPECT_EQ(count_of(runner.err(), "R300]"), kOutages) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  bed.expect_each_once();
}

// One of the addresses accepts clients and never says anything: to librdkafka it is not down, so it
// does not report that all are.
TEST(KafkaBroker, ThatIsAwayIsSaidThoughAnotherAddressAccepts) {
  const OwnListener mute = own_listener();
  KafkaServer server;
  KafkaTestBed bed(DatabaseKind::kSqlite, server,
                   {.properties = "api.version.request.timeout.ms: 300000, "
                                  "socket.connection.setup.timeout.ms: 300000",
                    .brokers = fmt::format("{},127.0.0.1:{}", server.brokers(), mute.port)});
  bed.produce(30);
  Program runner({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return bed.sum() == bed.produced_sum(); })) << runner.err();
  EXPECT_EQ(count_of(runner.err(), "R300"), 0U) << runner.err();
  server.kill();
  EXPECT_TRUE(tells(runner, "error[R300]"));
  server.start();
  bed.produce(30);
  EXPECT_TRUE(comes_true([&] { return bed.sum() == bed.produced_sum(); })) << runner.err();
  EXPECT_TRUE(tells(runner, "works again"));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0) << runner.err();
  bed.expect_each_once();
}

struct KafkaKeyCase {
  const char* key;
  KafkaServer::Record record;
};

class KafkaKeys : public ::testing::TestWithParam<int> {
 protected:
  static const std::vector<KafkaKeyCase>& cases() {
    static const std::string plain = R"({"id":"i-1","account":1,"amount":5})";
    static const std::vector<KafkaKeyCase> all = {
        {"broker_key", {.value = plain, .key = "k-1"}},
        {"header:X-Id", {.value = plain, .headers = {{"x-id", "h-1"}}}},
        {"cloudevents",
         {.value = plain,
          .headers = {{"ce_specversion", "1.0"}, {"ce_source", "/shop"}, {"ce_id", "c-1"}}}},
        {"cloudevents",
         {.value = R"({"specversion":"1.0","source":"/shop","id":"c-2","type":"paid",)"
                   R"("account":1,"amount":5})",
          .headers = {{"content-type", "application/cloudevents+json"}}}},
        {"json:/id", {.value = plain}},
        {"position", {.value = plain}}};
    return all;
  }
};

TEST_P(KafkaKeys, AreFoundWhereTheProducerPutThem) {
  const KafkaKeyCase& one = cases().at(static_cast<std::size_t>(GetParam()));
  const KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(),
                         {.partitions = 1, .key = one.key});
  bed.server().produce(bed.topic(), {one.record, one.record});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  const bool copies = std::string_view(one.key) == "position";
  EXPECT_EQ(json_at(ran.out, "/effects"), copies ? "2" : "1") << ran.out << ran.err;
  EXPECT_EQ(bed.sum(), copies ? 10 : 5);
}

INSTANTIATE_TEST_SUITE_P(Places, KafkaKeys, ::testing::Range(0, 6));

}  // namespace
}  // namespace semel::test
