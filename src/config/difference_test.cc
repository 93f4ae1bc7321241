#include "config/difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/test_load.h"
#include "tests/support/temp_dir.h"

namespace semel::config {
namespace {

using Kind = ConsumerChange::Kind;

std::string consumer(std::string_view name, std::string_view more = "") {
  return fmt::format(
      "  - name: {}\n"
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    handler: {{ exec: {{ command: [/bin/true] }} }}\n"
      "{}",
      name, more);
}

std::string file_of(std::string_view consumers, std::string_view more = "") {
  return fmt::format("store: {{ sqlite: {{ path: a.db }} }}\n{}consumers:\n{}", more, consumers);
}

std::string told(const Difference& found) {
  std::string text;
  for (const ConsumerChange& change : found.consumers) {
    text += fmt::format("{} {}", to_string(change.kind), change.consumer);
    for (const ValueChange& value : change.values) {
      text +=
          fmt::format(" {}:{}>{}", value.path, value.from.value_or("-"), value.to.value_or("-"));
    }
    text += '\n';
  }
  for (const std::string& name : found.unchanged) text += "same " + name + '\n';
  if (found.tokens) text += "tokens\n";
  if (found.shown) text += "shown\n";
  for (const ValueChange& value : found.fixed) text += "fixed " + value.path + '\n';
  return text;
}

std::string told(std::string_view before, std::string_view after,
                 const LoadOptions& was = with_env({}), const LoadOptions& is = with_env({})) {
  return told(difference(good(before, was), good(after, is)));
}

TEST(Difference, OfTheSameFileIsNone) {
  const std::string file = file_of(consumer("a") + consumer("b"));
  EXPECT_TRUE(difference(good(file), good(file)).consumers.empty());
  EXPECT_EQ(told(file, file), "same a\nsame b\n");
}

TEST(Difference, APlaceInTheFileAndADefaultThatIsWrittenAreNone) {
  const std::string one = file_of(consumer("a") + consumer("b"));
  EXPECT_EQ(told(one, file_of("# a comment\n" + consumer("b") + consumer("a"))),
            "same b\nsame a\n");
  const auto attempts = good(one).consumers[0].retry.attempts;
  const std::string written =
      consumer("a", fmt::format("    retry: {{ attempts: {} }}\n", attempts)) + consumer("b");
  EXPECT_EQ(told(one, file_of(written)), "same a\nsame b\n");
}

TEST(Difference, NamesEachValueThatChanged) {
  EXPECT_EQ(told(file_of(consumer("a", "    timeout: 20s\n") + consumer("b")),
                 file_of(consumer("a", "    timeout: 30s\n") + consumer("b"))),
            "changed a timeout:20s>30s\nsame b\n");
}

TEST(Difference, ADefaultOfAllReachesThoseThatHaveIt) {
  const std::string consumers = consumer("a", "    timeout: 20s\n") + consumer("b");
  EXPECT_EQ(told(file_of(consumers, "defaults: { timeout: 40s }\n"),
                 file_of(consumers, "defaults: { timeout: 50s }\n")),
            "changed b timeout:40s>50s\nsame a\n");
}

TEST(Difference, KnowsWhoComesAndWhoGoes) {
  EXPECT_EQ(told(file_of(consumer("a") + consumer("b")), file_of(consumer("c") + consumer("b"))),
            "added c\nremoved a\nsame b\n");
}

TEST(Difference, ASecretThatChangedIsSeenAndNotShown) {
  const std::string file = file_of(
      "  - name: a\n"
      "    source: { rabbitmq: { url: \"amqp://user:${WORD}@localhost\", queue: q } }\n"
      "    key: json:/id\n"
      "    handler: { exec: { command: [/bin/true] } }\n");
  const std::string changed =
      told(file, file, with_env({{"WORD", "hunter2"}}), with_env({{"WORD", "swordfish"}}));
  EXPECT_EQ(changed.find("changed a source.rabbitmq.url:"), 0U) << changed;
  EXPECT_EQ(changed.find("swordfish"), std::string::npos) << changed;
  EXPECT_EQ(changed.find("hunter2"), std::string::npos) << changed;
}

TEST(Difference, AFileIsReadAnew) {
  const test::TempDir folder;
  const auto write = [&](std::string_view text) { std::ofstream(folder.file("word")) << text; };
  const std::string file = file_of(
      consumer("a"),
      fmt::format("admin: {{ auth: {{ tokens: [{{ name: ops, secret: \"${{file:{}}}\" }}] }} }}\n",
                  folder.file("word")));
  write("0123456789abcdef\n");
  const Config before = good(file);
  EXPECT_FALSE(difference(before, good(file)).tokens);
  write("fedcba9876543210\n");
  EXPECT_EQ(told(difference(before, good(file))), "same a\ntokens\n");
}

TEST(Difference, ARoleThatChangedIsOneOfTokens) {
  const auto with_role = [](std::string_view role) {
    return file_of(consumer("a"), fmt::format("admin: {{ auth: {{ tokens: [{{ name: ops, secret: "
                                              "0123456789abcdef, role: {} }}] }} }}\n",
                                              role));
  };
  EXPECT_EQ(told(with_role("read"), with_role("operator")), "same a\ntokens\n");
}

TEST(Difference, SoAreTheConsumersThatItsHolderMayClaim) {
  const auto with_claims = [](std::string_view claims) {
    return file_of(
        "  - { name: a, source: { claims: {} } }\n  - { name: b, source: { claims: {} } }\n",
        fmt::format("admin: {{ auth: {{ tokens: [{{ name: mailer, secret: "
                    "0123456789abcdef, claims: [{}] }}, {{ name: other, secret: "
                    "fedcba9876543210, claims: [a, b] }}] }} }}\n",
                    claims));
  };
  EXPECT_EQ(told(with_claims("a, b"), with_claims("a")), "same a\nsame b\ntokens\n");
}

TEST(Difference, StoreAndListenerNeedAnotherProcess) {
  const std::string consumers = consumer("a");
  EXPECT_EQ(told(file_of(consumers), "store: { sqlite: { path: b.db } }\nconsumers:\n" + consumers),
            "same a\nfixed store.sqlite.path\n");
  std::string input = consumers;
  input.replace(input.find("queue"), 5, "stdin");
  const std::string memory = told(file_of(input), "store: { memory: {} }\nconsumers:\n" + input);
  EXPECT_NE(memory.find("fixed store\n"), std::string::npos) << memory;
  EXPECT_EQ(told(file_of(consumers, "admin: { listen: 127.0.0.1:1 }\n"),
                 file_of(consumers, "admin: { listen: 127.0.0.1:2 }\n")),
            "same a\nfixed admin.listen\n");
  EXPECT_EQ(told(file_of(consumers), file_of(consumers, "drain_timeout: 7s\n")),
            "same a\nfixed drain_timeout\n");
}

TEST(Difference, AnotherKindWithoutFieldsIsAnotherSource) {
  const std::string queue = consumer("a");
  std::string input = queue;
  input.replace(input.find("queue"), 5, "stdin");
  const std::string changed = told(file_of(queue), file_of(input));
  EXPECT_NE(changed.find("changed a"), std::string::npos) << changed;
  EXPECT_NE(changed.find("source:queue>stdin"), std::string::npos) << changed;
}

TEST(Difference, WhatTheListenerShowsIsTakenUp) {
  const auto with = [](std::string_view admin) {
    return file_of(consumer("a"), fmt::format("admin: {{ listen: ':0'{} }}\n", admin));
  };
  const std::string tokens = ", auth: { tokens: [{ name: t, secret: 'a secret of some length' }] }";
  EXPECT_EQ(told(with(tokens), with(tokens + ", mask: ['json:/card']")), "same a\nshown\n");
  EXPECT_EQ(told(with(tokens + ", mask: ['json:/card']"), with(tokens + ", mask: ['json:/pan']")),
            "same a\nshown\n");
  EXPECT_EQ(told(with(tokens), with(tokens + ", payloads: none, errors: text")), "same a\nshown\n");
  EXPECT_NE(told(file_of(consumer("a")), with(tokens)).find("fixed admin.listen\n"),
            std::string::npos);
}

TEST(Difference, AFixedValueSaysWhereItIsWritten) {
  const std::string was = file_of(consumer("a"));
  std::string is = was;
  is.replace(is.find("a.db"), 4, "b.db");
  const Difference found = difference(good(was), good(is));
  ASSERT_EQ(found.fixed.size(), 1U);
  EXPECT_EQ(found.fixed[0].from, "a.db");
  EXPECT_EQ(found.fixed[0].to, "b.db");
  EXPECT_NE(found.fixed[0].origin.find(":1:"), std::string::npos) << found.fixed[0].origin;
}

std::string reader(std::string_view name, std::string_view source) {
  std::string made = consumer(name);
  return made.replace(made.find("queue: {}"), 9, source);
}

// True if b of the second file waits for a of the first.
bool waits(const std::string& was, const std::string& is) {
  return hands_over(good(file_of(was)), "a", good(file_of(is)), "b");
}

TEST(HandsOver, ARenamedConsumerWaitsForItsOldSelf) {
  for (const char* const source :
       {"kafka: { brokers: h:1, group: g, topics: [t, u] }",
        "nats: { url: 'nats://h', stream: s, durable: d }",
        "rabbitmq: { url: 'amqp://h', queue: q }", "file: { path: in.jsonl }",
        "redis_streams: { url: 'redis://h', stream: s, group: g }",
        "sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/q' }",
        "http: { listen: '127.0.0.1:8080' }"}) {
    EXPECT_TRUE(waits(reader("a", source), reader("b", source))) << source;
    EXPECT_FALSE(waits(reader("b", source), reader("b", source))) << source;
    EXPECT_TRUE(waits(reader("a", source), consumer("a") + reader("b", source))) << source;
  }
  const std::string both = reader("a", "file: { path: in }") + reader("b", "file: { path: in }");
  EXPECT_FALSE(waits(reader("a", "file: { path: in }"), both)) << "both are wanted";
  const auto kafka = [](std::string_view group, std::string_view topic) {
    return fmt::format("kafka: {{ brokers: h:1, group: {}, topics: [{}] }}", group, topic);
  };
  EXPECT_FALSE(waits(reader("a", kafka("g", "t")), reader("b", kafka("g", "u"))));
  EXPECT_FALSE(waits(reader("a", kafka("g", "t")), reader("b", kafka("h", "t"))));
  EXPECT_FALSE(waits(reader("a", "nats: { url: 'nats://h', stream: s, durable: d }"),
                     reader("b", "nats: { url: 'nats://h', stream: s, durable: e }")));
  EXPECT_FALSE(waits(reader("a", "rabbitmq: { url: 'amqp://h', queue: q }"),
                     reader("b", "rabbitmq: { url: 'amqp://h', queue: r }")));
  EXPECT_FALSE(waits(reader("a", "sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/q' }"),
                     reader("b", "sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/r' }")));
  EXPECT_FALSE(waits(reader("a", "http: { listen: '127.0.0.1:8080' }"),
                     reader("b", "http: { listen: '127.0.0.1:8081' }")));
  EXPECT_TRUE(waits(reader("a", "http: { listen: '127.0.0.1:8080' }"),
                    reader("b", "http: { listen: ':8080' }")));
  EXPECT_FALSE(waits(reader("a", "redis_streams: { url: 'redis://h', stream: s, group: g }"),
                     reader("b", "redis_streams: { url: 'redis://h', stream: s, group: h }")));
  EXPECT_FALSE(waits(consumer("a"), consumer("b"))) << "each has a queue of its own";
}

TEST(Difference, AReaderOfStdinStaysAsItIs) {
  std::string input = consumer("a");
  input.replace(input.find("queue"), 5, "stdin");
  const std::string two = file_of(input + consumer("b"));
  EXPECT_NE(told(two, file_of(consumer("b"))).find("fixed consumers.a.source.stdin\n"),
            std::string::npos);
  const std::string slower = file_of(input + "    timeout: 77s\n" + consumer("b"));
  EXPECT_NE(told(two, slower).find("fixed consumers.a.timeout\n"), std::string::npos);
}

}  // namespace
}  // namespace semel::config
