// A consumer whose handler publishes to a stream, and one that reads there: by their configs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include <semel/semel.h>

#include "tests/producer/consumption.h"
#include "tests/support/nats_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

constexpr int kForwarded = 300;

class Forwarding : public testing::Test {
 protected:
  // Every line stands twice, and the second copy is a duplicate.
  Forwarding() {
    std::string lines;
    for (int i = 0; i < 2 * kForwarded; ++i) {
      lines += fmt::format("{{\"id\":\"k-{}\"}}\n", i % kForwarded);
    }
    write_file(folder_.file("orders.jsonl"), lines);
  }
  int forward_to(const std::string& handler) const {
    write_file(folder_.file("semel.yaml"),
               fmt::format("version: 1\nstore: {{ sqlite: {} }}\nconsumers:\n  - name: forward\n"
                           "    source: {{ file: {{ path: orders.jsonl }} }}\n    key: json:/id\n"
                           "    handler: {}\n",
                           folder_.file("semel.db"), handler));
    return Runner::from_file(folder_.file("semel.yaml")).once().run();
  }
  static void expect_each_once(const Consumption& seen) {
    EXPECT_EQ(seen.exit_code, 0) << seen.complaints;
    EXPECT_EQ(seen.effects.size(), static_cast<std::size_t>(kForwarded)) << seen.complaints;
    for (int i = 0; i < kForwarded; ++i) {
      EXPECT_EQ(seen.effects.count(fmt::format("k-{}", i)), 1U) << i;
    }
    EXPECT_EQ(seen.duplicates, 0) << "each was published once";
  }

  TempDir folder_;
};

TEST_F(Forwarding, ThroughARedisStreamEachHasItsKey) {
  const RedisServer& server = RedisServer::shared();
  const std::string stream = server.new_database() + ":orders";
  EXPECT_EQ(
      forward_to(fmt::format(R"({{ redis_streams: {{ url: "{}", stream: "{}", declare: true }} }})",
                             server.url(), stream)),
      0);
  expect_each_once(consume(fmt::format(
      R"({{ redis_streams: {{ url: "{}", stream: "{}", group: readers, declare: true }} }})",
      server.url(), stream)));
}

TEST_F(Forwarding, ThroughASubjectOfNatsEachHasItsKey) {
  const NatsServer& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  EXPECT_EQ(forward_to(fmt::format(R"({{ nats: {{ url: "{}", subject: {}.paid }} }})", server.url(),
                                   stream)),
            0);
  expect_each_once(
      consume(fmt::format(R"({{ nats: {{ url: "{}", stream: {}, durable: d, declare: true }} }})",
                          server.url(), stream)));
}

}  // namespace
}  // namespace semel::test
