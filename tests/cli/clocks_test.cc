// The fault table's row of clocks: consumers whose machines do not agree about the time, on stores
// that they share over a network. The server's clock alone decides what expires.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/cli/gateway.h"
#include "tests/cli/server_test_bed.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

struct Skewed {
  std::string name;
  std::function<std::string()> store;  // as in `store:`, an empty one
  const char* strategy;
};
void PrintTo(const Skewed& one, std::ostream* out) { *out << one.name << "_" << one.strategy; }

std::string database_on(const ServerKind& kind) {
  const DatabaseServer& server = kind.shared();
  return fmt::format("{{ {}: {{ url: \"{}\" }} }}", kind.store, server.url(server.new_database()));
}

std::string names_on_redis() {
  const RedisServer& server = RedisServer::shared();
  return fmt::format("{{ redis: {{ url: \"{}\", prefix: \"{}:\" }} }}", server.url(),
                     server.new_database());
}

std::vector<Skewed> skewed() {
  std::vector<Skewed> all;
  for (const char* strategy : {"state_machine", "fence", "at_most_once"}) {
    for (const ServerKind& kind : server_kinds()) {
      all.push_back({name_of_kind(kind), [kind] { return database_on(kind); }, strategy});
    }
    all.push_back({"Redis", names_on_redis, strategy});
  }
  return all;
}

constexpr long kDay = 24L * 3600;

class Clocks : public testing::TestWithParam<Skewed> {
 protected:
  Clocks() {
    write_file(config_, fmt::format("version: 1\n"
                                    "store: {}\n"
                                    "consumers:\n"
                                    "  - name: payments\n"
                                    "    source: {{ stdin: {{}} }}\n"
                                    "    key: json:/id\n"
                                    "    strategy: {}\n"
                                    "    dedup: {{ lease: 60s, ttl: 7d }}\n"
                                    "    handler:\n"
                                    "      http: {{ url: \"{}\", timeout: 50s }}\n",
                                    GetParam().store(), GetParam().strategy, gateway_.url()));
  }

  static StartOptions off_by(long seconds) {
    return {
        .environment = {"LD_PRELOAD=" SEMEL_TEST_SHIFTED_CLOCK,
                        fmt::format("SEMEL_TEST_CLOCK_SHIFT={}", seconds), "no_proxy=127.0.0.1"},
        .held_input = true};
  }
  static std::string message(std::string_view key) {
    return fmt::format("{{\"id\":\"{}\"}}\n", key);
  }
  // Whether the machine of who called last is that much off.
  bool seen_off_by(long seconds) const {
    const long seen = std::strtol(gateway_.header("webhook-timestamp").c_str(), nullptr, 10);
    return std::labs(seen - std::time(nullptr) - seconds) < 600;
  }
  Gateway gateway_{Gateway::Keys::kIgnored};
  const TempDir folder_;
  const std::string config_ = folder_.file("semel.yaml");
};

TEST_P(Clocks, NobodyTakesALeaseOrForgetsARecordByItsOwn) {
  const Words words = {"run", config_, "--once", "-o", "jsonl"};
  {
    Program alone(words, off_by(30 * kDay));
    alone.say(message("p-2"));
    alone.end_input();
    EXPECT_EQ(alone.wait().code, 0) << alone.err();
    EXPECT_TRUE(seen_off_by(30 * kDay)) << "the fault did not fire";
  }
  gateway_.next({Gateway::Answer::kHeld});
  Program slow(words, off_by(-30 * kDay));
  slow.say(message("p-1"));
  ASSERT_TRUE(comes_true([&] { return gateway_.calls() == 2; })) << slow.err();
  EXPECT_TRUE(seen_off_by(-30 * kDay)) << "the fault did not fire";
  // So that it takes nothing of the other's: under fence the store has what both were given.
  slow.signal(SIGSTOP);
  // To this one a lease of a minute ended two months ago.
  Program fast(words, off_by(30 * kDay));
  fast.say(message("p-1"));
  EXPECT_TRUE(fast.says("busy")) << fast.out();
  slow.signal(SIGCONT);
  gateway_.release();
  for (Program* program : {&slow, &fast}) {
    program->end_input();
    EXPECT_EQ(program->wait().code, 0) << program->err();
  }
  for (const long off : {-30 * kDay, 30 * kDay}) {
    StartOptions again = off_by(off);
    again.held_input = false;
    const Ran swept = run({"store", "sweep", "-c", config_}, again);
    EXPECT_EQ(swept.code, 0) << swept.err;
    again.input = message("p-1") + message("p-2");
    const Ran ran = run({"run", "--once", "-o", "json", "-c", config_}, again);
    EXPECT_EQ(json_at(ran.out, "/duplicates"), "2") << ran.out << ran.err;
  }
  for (const char* key : {"p-1", "p-2"}) EXPECT_EQ(gateway_.effects(key), 1) << key;
  EXPECT_EQ(gateway_.calls(), 2);
}

INSTANTIATE_TEST_SUITE_P(Servers, Clocks, testing::ValuesIn(skewed()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::test
