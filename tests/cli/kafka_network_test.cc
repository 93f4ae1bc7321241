// Effects on the source of networks, of logins and certificates, and of what the members of a group
// with names of their own do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/cli/kafka_test_bed.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/tls.h"

namespace semel::test {
namespace {

constexpr const char* kQuickSession = "session.timeout.ms: 1500, heartbeat.interval.ms: 300";

bool catches_up(const KafkaTestBed& bed) {
  return comes_true([&] { return bed.sum() == bed.produced_sum() && bed.all_committed(); });
}

TEST(KafkaNetwork, ConnectionsThatAreCutRefusedAndStalledCostNothing) {
  const int port = free_port();
  TcpProxy proxy(port);
  KafkaServer server({.listener = KafkaServer::Listener{port, proxy.port()}});
  KafkaTestBed bed(
      DatabaseKind::kSqlite, server,
      {.partitions = 2, .properties = kQuickSession, .brokers = server.listener_brokers()});
  bed.produce(300);
  Program runner({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return bed.sum() > 0; })) << runner.err();
  EXPECT_GE(proxy.connections(), 1U) << "the broker names the proxy's port";
  for (int i = 0; i < 3; ++i) {
    bed.produce(200);
    proxy.cut_all();
    EXPECT_TRUE(catches_up(bed)) << "cut " << i << ": " << runner.err();
  }
  // Said to the broker, and no answer comes: an offset that may be committed or not.
  const auto withheld =
      proxy.inject({.text = bed.group(), .then = TcpProxy::Then::kWithhold, .times = 2});
  bed.produce(200);
  EXPECT_TRUE(proxy.wait_fired(withheld, 1));
  EXPECT_TRUE(catches_up(bed)) << runner.err();
  // The group misses it meanwhile, as each connection by which it would come back stalls too.
  constexpr std::size_t kAll = 1'000;
  const auto stalled =
      proxy.inject({.text = bed.group(), .then = TcpProxy::Then::kStall, .times = kAll});
  bed.produce(200);
  EXPECT_TRUE(proxy.wait_fired(stalled));
  EXPECT_TRUE(comes_true([&] { return server.members(bed.group()) == 0; })) << "it is not missed";
  proxy.clear();
  EXPECT_TRUE(catches_up(bed)) << runner.err();
  proxy.refuse(true);
  proxy.cut_all();
  bed.produce(200);
  EXPECT_TRUE(tells(runner, "R300"));
  EXPECT_EQ(bed.figure("lag"), std::nullopt) << "what was fetched last is old";
  EXPECT_TRUE(bed.figure("partitions").has_value());
  proxy.refuse(false);
  EXPECT_TRUE(catches_up(bed)) << runner.err();
  EXPECT_TRUE(tells(runner, "works again"));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0) << runner.err();
  bed.expect_each_once();
}

std::string over_tls(const std::string& ca, const std::string& password,
                     const std::string& mechanism) {
  return fmt::format(
      "security.protocol: sasl_ssl, ssl.ca.location: {}, sasl.mechanism: {}, sasl.username: owner, "
      "sasl.password: {}",
      ca, mechanism, password);
}

TEST(KafkaTls, TheRightOneIsLetInAndEachOtherToldWhy) {
  const TlsIdentity identity;
  const TlsIdentity stranger;
  const TempDir folder;
  write_file(folder.file("broker.pem"), identity.private_key() + identity.certificate());
  write_file(folder.file("ca.pem"), identity.certificate());
  write_file(folder.file("other.pem"), stranger.certificate());
  KafkaServer::Listener listener{.port = free_port(), .protocol = "SASL_SSL"};
  listener.properties = {
      "ssl.keystore.type=PEM", "ssl.keystore.location=" + folder.file("broker.pem"),
      "plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
      "user_owner=\"right\";"};
  KafkaServer server({.listener = listener});
  KafkaTestBed bed(DatabaseKind::kSqlite, server,
                   {.properties = over_tls(folder.file("ca.pem"), "right", "PLAIN"),
                    .brokers = server.listener_brokers()});
  bed.produce(60);
  const Ran right = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(right.code, 0) << right.err;
  bed.expect_each_once();
  const auto refused = [&](const std::string& code, const std::string& properties) {
    const Ran ran = bed.semel({"run", "--once", "-q", "--set",
                               "consumers[0].source.kafka.properties={" + properties + "}"});
    EXPECT_EQ(ran.code, 78) << ran.err;
    EXPECT_EQ(count_of(ran.err, "error[" + code + "]"), 1U) << ran.err;
    EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << ran.err;
  };
  refused("R301", over_tls(folder.file("ca.pem"), "hunter2", "PLAIN"));
  refused("R301", over_tls(folder.file("ca.pem"), "right", "SCRAM-SHA-256"));
  refused("R302", over_tls(folder.file("other.pem"), "right", "PLAIN"));
  refused("R308", over_tls(folder.file("none.pem"), "right", "PLAIN"));
}

std::string named(const std::string& name) {
  // Longer than a busy machine takes to start one again.
  return "session.timeout.ms: 60000, heartbeat.interval.ms: 300, group.instance.id: " + name;
}

Words run_named(const KafkaTestBed& bed, const std::string& name) {
  return {"run", bed.config(), "-q", "--set",
          "consumers[0].source.kafka.properties={" + named(name) + "}"};
}

TEST(KafkaStatic, ARestartWithinTheSessionMakesNoRebalance) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), {.partitions = 4});
  Program stays(run_named(bed, "stays"));
  auto goes = std::make_unique<Program>(run_named(bed, "goes"));
  ASSERT_TRUE(comes_true([&] {
    return bed.figure("partitions", stays.pid()) == 2 && bed.figure("partitions", goes->pid()) == 2;
  })) << stays.err()
      << goes->err();
  const auto rebalances = [&] { return bed.figure("rebalances", stays.pid()); };
  std::optional<std::int64_t> before;
  ASSERT_TRUE(comes_true([&] { return (before = rebalances()).has_value(); }));
  for (const int signal : {SIGKILL, SIGTERM}) {
    goes->signal(signal);
    (void)goes->wait();
    bed.produce(200);
    goes = std::make_unique<Program>(run_named(bed, "goes"));
    EXPECT_TRUE(catches_up(bed)) << goes->err();
    EXPECT_TRUE(comes_true([&] { return bed.figure("partitions", goes->pid()) == 2; }))
        << "its own again";
  }
  EXPECT_TRUE(comes_true([&] { return rebalances() == before; }))
      << rebalances().value_or(-1) << " and before " << *before;
  for (Program* one : {&stays, goes.get()}) {
    one->signal(SIGTERM);
    EXPECT_EQ(one->wait().code, 0) << one->err();
  }
  bed.expect_each_once();
}

TEST(KafkaStatic, TwoOfOneNameAreToldAndTheSecondGoesOn) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), {.partitions = 2});
  bed.produce(30);
  Program first(run_named(bed, "same"));
  ASSERT_TRUE(catches_up(bed)) << first.err();
  Program second(run_named(bed, "same"));
  EXPECT_TRUE(tells(first, "error[R305]")) << first.err();
  const Ran ended = first.wait();
  EXPECT_EQ(ended.code, 78);
  EXPECT_EQ(count_of(ended.err, "error["), 1U) << ended.err;
  bed.produce(60);
  EXPECT_TRUE(catches_up(bed)) << second.err();
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait().code, 0) << second.err();
  bed.expect_each_once();
}

}  // namespace
}  // namespace semel::test
