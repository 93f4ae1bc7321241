#include "config/front_build.h"

#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

Loaded load_front(const std::string& front, const std::string& more = "strategy: state_machine",
                  const std::string& source = "{ file: { path: in.jsonl } }") {
  return load_text("consumers:\n  - name: payments\n    source: " + source +
                       "\n    key: json:/id\n    " + more + "\n    front: " + front + "\n",
                   "semel.yaml", with_env({}));
}

TEST(FrontBuild, SaysWhichWindowAndForHowLong) {
  const auto memory = load_front("{ memory: {} }");
  ASSERT_TRUE(memory.config) << all_of(memory);
  const auto& front = *memory.config->consumers.at(0).front;
  EXPECT_EQ(std::get<MemoryFrontOptions>(front).entries, 100'000U);
  EXPECT_EQ(ttl_of(front), std::chrono::minutes(10));
  const auto redis = load_front("{ redis: \"redis://h:1/2\", ttl: 1h }");
  ASSERT_TRUE(redis.config) << all_of(redis);
  const auto& its = std::get<RedisFrontOptions>(*redis.config->consumers.at(0).front);
  EXPECT_EQ(its.url, "redis://h:1/2");
  EXPECT_EQ(its.prefix, "semel:front:");
  EXPECT_EQ(its.timeout, milliseconds(100));
}

TEST(FrontBuild, RefusesWhereItCannotStand) {
  const std::string file = "{ file: { path: in.jsonl } }";
  const std::tuple<std::string, std::string, std::string, std::string> wrong[] = {
      {"{ memory: {} }", "strategy: natural", file, "E054"},
      {"{ memory: {} }", "strategy: state_machine", "{ queue: {} }", "E054"},
      {"{ memory: {}, ttl: 8d }", "strategy: state_machine", file, "E054"},
      {"{ memory: {}, redis: \"redis://h\" }", "strategy: state_machine", file, "E018"},
      {"{ ttl: 1m }", "strategy: state_machine", file, "E018"},
      {"{ redis: \"http://h\" }", "strategy: state_machine", file, "E014"},
      {"{ redis: { url: \"redis://h\", prefix: \"a{b}\" } }", "strategy: state_machine", file,
       "E014"}};
  for (const auto& [front, strategy, source, code] : wrong) {
    const auto loaded = load_front(front, strategy, source);
    ASSERT_FALSE(loaded.config) << front;
    EXPECT_EQ(loaded.diagnostics.front().code, code) << front << "\n" << all_of(loaded);
    EXPECT_FALSE(loaded.diagnostics.front().help.empty()) << front;
  }
  EXPECT_TRUE(load_front("{ memory: {}, ttl: 8d }", "dedup: { ttl: keep }").config);
}

}  // namespace
}  // namespace semel::config
