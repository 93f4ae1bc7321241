// Which consumers can receive published messages, and the errors for those that cannot.
#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

constexpr std::string_view kQueue = "source: { queue: {} }, key: json:/id }\n";

// A config with a consumer named orders, which reads a file, and consumers of the queue. The
// arguments add further settings.
std::string config_of(const std::string& orders, std::string_view more) {
  return "consumers:\n  - { name: orders, key: json:/id, source: { file: in.jsonl }, " + orders +
         " }\n" + std::string(more);
}

std::string queue(const std::string& name, const std::string& more = "") {
  return "  - { name: " + name + ", " + more + std::string(kQueue);
}

void expect_refused(const std::string& yaml, const std::string& what, const std::string& help) {
  const auto loaded = load_text(yaml, "semel.yaml", with_env({}));
  ASSERT_EQ(loaded.diagnostics.size(), 1U) << all_of(loaded);
  EXPECT_EQ(loaded.diagnostics[0].code, "E040") << all_of(loaded);
  EXPECT_NE(loaded.diagnostics[0].message.find(what), std::string::npos) << all_of(loaded);
  EXPECT_NE(loaded.diagnostics[0].help.find(help), std::string::npos) << all_of(loaded);
  EXPECT_EQ(loaded.diagnostics[0].where.line, 2) << all_of(loaded);
}

TEST(OutboxConfig, NamesWhoIsSentWhat) {
  const auto config = good(config_of("publish: [mails, audit], dead_letter: { copy_to: graves }",
                                     queue("mails") + queue("audit") + queue("graves")));
  EXPECT_EQ(config.consumers.at(0).publish, (std::vector<std::string>{"mails", "audit"}));
  EXPECT_EQ(config.consumers[0].copy_dead_letters, "graves");
  EXPECT_TRUE(config.consumers[1].publish.empty());
  EXPECT_FALSE(config.consumers[1].copy_dead_letters);
}

TEST(OutboxConfig, HasShortForms) {
  const auto config =
      good(config_of("publish: mails, dead_letter: graves", queue("mails") + queue("graves")));
  EXPECT_EQ(config.consumers.at(0).publish, std::vector<std::string>{"mails"});
  EXPECT_EQ(config.consumers[0].copy_dead_letters, "graves");
}

TEST(OutboxConfig, DeadLettersMayExpireWithACopyOrWithout) {
  const auto config = good(
      config_of("dead_letter: { copy_to: graves, expire: 30d }", queue("graves") + queue("audit")));
  EXPECT_EQ(config.consumers.at(0).copy_dead_letters, "graves");
  EXPECT_EQ(config.consumers[0].dead_letters_expire, std::chrono::hours(30 * 24));
  EXPECT_FALSE(config.consumers[1].dead_letters_expire) << "else they are kept";
  const auto alone = good(config_of("dead_letter: { expire: 1s }", ""));
  EXPECT_FALSE(alone.consumers.at(0).copy_dead_letters);
  EXPECT_EQ(alone.consumers[0].dead_letters_expire, std::chrono::seconds(1));
}

TEST(OutboxConfig, OnlyAQueueOfTheSameFileIsSentMessages) {
  expect_refused(config_of("publish: [mials]", queue("mails")), "\"mials\" is no consumer",
                 "one of: mails");
  expect_refused(config_of("dead_letter: graves", ""), "\"graves\" is no consumer", "queue: {}");
  const std::string file =
      "  - { name: other, key: json:/id, source: { file: more.jsonl }, handler: { native: x } }\n";
  expect_refused(config_of("publish: [other]", file), "from file", "queue: {}");
}

TEST(OutboxConfig, NobodySendsToHimself) {
  const std::string circle =
      "consumers:\n" + queue("a", "publish: [b], ") + queue("b", "publish: [a], ");
  const auto loaded = load_text(circle, "semel.yaml", with_env({}));
  ASSERT_EQ(loaded.diagnostics.size(), 1U) << all_of(loaded);
  EXPECT_EQ(loaded.diagnostics[0].code, "E040");
  EXPECT_EQ(loaded.diagnostics[0].path, "consumers[1].publish[0]");
  expect_refused("consumers:\n" + queue("a", "dead_letter: a, "), "sends to this one",
                 "nothing back");
  good("consumers:\n" + queue("a", "publish: [b, c], ") + queue("b", "publish: [c], ") +
       queue("c"));
}

}  // namespace
}  // namespace semel::config
