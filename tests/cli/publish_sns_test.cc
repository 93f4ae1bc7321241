// Messages published to a topic of SNS by the real program, and what a queue that subscribes has.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/publish_bed.h"
#include "tests/support/moto_server.h"

namespace semel::test {
namespace {

constexpr const char* kSnsKeys = "credentials: { access_key_id: AKID, secret_access_key: hunter2 }";

class SnsPublishProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = MotoServer::why_absent()) GTEST_SKIP() << *why;
  }
};

std::string to_sns(const MotoServer& server, const std::string& arn, const std::string& more = {}) {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    dedup: {{ lease: 1s }}\n"
      "    retry: {{ backoff: 50ms..500ms }}\n"
      "    handler: {{ sns: {{ topic_arn: \"{}\", endpoint: \"{}\", {}{} }} }}\n",
      arn, server.url({}), kSnsKeys, more);
}

TEST_F(SnsPublishProgram, AKilledProgramPublishesTheRestUnderTheirKeys) {
  const MotoServer& server = MotoServer::shared();
  const std::string topic = server.new_topic();
  const std::string queue = server.new_subscriber(topic);
  const TestBed bed(to_sns(server, topic, ", honours_key: true"));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("keyed_retry"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("SNS delivers what comes again"), std::string::npos) << checked.out;
  send_ids(bed, 200);
  Program runner({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return completed_of(bed) != "0"; })) << runner.err();
  runner.signal(SIGKILL);
  EXPECT_EQ(runner.wait().signal, SIGKILL);
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  std::set<std::string> keys;
  for (const auto& post : server.take_all(queue)) keys.insert(post.header("Idempotency-Key"));
  EXPECT_EQ(keys.size(), 200U);
  EXPECT_EQ(keys.count("(none)"), 0U);
}

TEST_F(SnsPublishProgram, ATopicThatIsNotThereIsWaitedFor) {
  const MotoServer& server = MotoServer::shared();
  const std::string name = ElasticmqServer::unused_name();
  const TestBed bed(to_sns(server, MotoServer::arn_of(name)));
  send_ids(bed, 20);
  Program runner({"run", bed.config()});
  EXPECT_TRUE(tells(runner, "there is no topic " + name)) << runner.err();
  server.make_topic(name);
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 20); })) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
}

}  // namespace
}  // namespace semel::test
