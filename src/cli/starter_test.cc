#include "cli/starter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/config.h"

namespace semel::cli {
namespace {

TEST(Starter, EveryCombinationIsAcceptedOrRefusedWithAReason) {
  std::set<std::string> refused;
  int accepted = 0;
  for (const StarterParts& parts : starter_combinations()) {
    const std::string name = parts.expression();
    const auto read = parse_starter(name);
    ASSERT_TRUE(read) << name << ": " << read.error().message;
    EXPECT_EQ(read->expression(), name);
    for (const bool small : {false, true}) {
      const auto text = starter_text(parts, small);
      if (!text) {
        EXPECT_EQ(text.error().code, "E030") << name;
        EXPECT_FALSE(text.error().message.empty());
        EXPECT_FALSE(text.error().hint.empty());
        refused.insert(name);
        continue;
      }
      const auto loaded = config::load_text(*text, "semel.yaml");
      EXPECT_TRUE(loaded.config) << *text;
      EXPECT_TRUE(loaded.diagnostics.empty())
          << *text << config::format(loaded.diagnostics.front(), false);
      EXPECT_TRUE(loaded.notes.empty())
          << "check --deny-warnings refuses it: " << loaded.notes.front().message;
      EXPECT_EQ(small, text->find('#') == std::string::npos) << *text;
      ++accepted;
    }
  }
  EXPECT_EQ(accepted, 856);
  EXPECT_EQ(refused, (std::set<std::string>{"queue/sql/memory",
                                            "queue/exec/memory",
                                            "queue/http/memory",
                                            "queue/native/memory",
                                            "queue/kafka/memory",
                                            "queue/rabbitmq/memory",
                                            "queue/nats/memory",
                                            "queue/redis_streams/memory",
                                            "queue/sns/memory",
                                            "queue/sqs/memory",
                                            "file/sql/memory",
                                            "queue/sql/redis",
                                            "file/sql/redis",
                                            "http/sql/redis",
                                            "http/sql/memory",
                                            "stdin/sql/redis",
                                            "stdin/sql/memory",
                                            "kafka/sql/redis",
                                            "kafka/sql/memory",
                                            "nats/sql/redis",
                                            "nats/sql/memory",
                                            "rabbitmq/sql/redis",
                                            "rabbitmq/sql/memory",
                                            "redis_streams/sql/redis",
                                            "redis_streams/sql/memory",
                                            "sqs/sql/redis",
                                            "sqs/sql/memory"}));
}

TEST(Starter, PartsSayWhatTheConfigHolds) {
  const auto parts = parse_starter("file/sql/sqlite");
  ASSERT_TRUE(parts);
  const auto loaded = config::load_text(*starter_text(*parts, false), "semel.yaml");
  ASSERT_TRUE(loaded.config);
  const auto& consumer = loaded.config->consumers.at(0);
  EXPECT_TRUE(std::holds_alternative<config::FileSource>(consumer.source));
  EXPECT_TRUE(std::holds_alternative<config::SqlHandler>(consumer.handler));
  EXPECT_TRUE(std::holds_alternative<SqliteOptions>(loaded.config->store.kind));
  EXPECT_TRUE(consumer.strategy_named);
}

TEST(Starter, AnUpdateOfNoRowIsNotTakenForDone) {
  for (const bool small : {false, true}) {
    const auto loaded =
        config::load_text(*starter_text({"queue", "sql", "sqlite"}, small), "semel.yaml");
    ASSERT_TRUE(loaded.config);
    const auto& handler = loaded.config->consumers.at(0).handler;
    const auto& statement = std::get<config::SqlHandler>(handler).spec.statements.at(0);
    EXPECT_EQ(statement.expect_rows, 1) << small;
    EXPECT_EQ(statement.otherwise.verdict.kind(), Verdict::Kind::kDead) << small;
  }
}

TEST(Starter, AServerAsStore) {
  const auto text = starter_text({"queue", "sql", "postgres"}, false);
  ASSERT_TRUE(text);
  config::LoadOptions options;
  options.env = [](const std::string&) { return "postgresql://db/shop"; };
  const auto loaded = config::load_text(*text, "semel.yaml", options);
  ASSERT_TRUE(loaded.config);
  EXPECT_EQ(std::get<PostgresOptions>(loaded.config->store.kind).url, "postgresql://db/shop");
}

TEST(Starter, AnEndpointAsHandler) {
  const auto text = starter_text({"queue", "http", "sqlite"}, false);
  ASSERT_TRUE(text);
  const auto loaded = config::load_text(*text, "semel.yaml");
  ASSERT_TRUE(loaded.config);
  const auto& consumer = loaded.config->consumers.at(0);
  EXPECT_TRUE(std::holds_alternative<config::HttpHandler>(consumer.handler));
  EXPECT_EQ(consumer.strategy, core::StrategyKind::kStateMachine);
}

TEST(Starter, ColumnsOfCommentsStandInOneLine) {
  for (const auto* parts : {"queue/sql", "file/sql", "stdin/sql", "queue/exec", "queue/http",
                            "queue/native", "queue/sql/postgres", "http/sql", "kafka/sql",
                            "rabbitmq/sql", "redis_streams/sql", "queue/kafka", "queue/nats",
                            "queue/rabbitmq", "queue/redis_streams", "queue/sns", "queue/sqs"}) {
    const auto text = starter_text(*parse_starter(parts), false);
    ASSERT_TRUE(text);
    std::set<std::size_t> columns;
    std::size_t begin = 0;
    for (auto end = text->find('\n'); end != std::string::npos;
         begin = end + 1, end = text->find('\n', begin)) {
      const auto line = text->substr(begin, end - begin);
      const auto hash = line.find('#');
      // A whole-line comment is indented like the field that it replaces.
      if (hash != std::string::npos && line.find_first_not_of(' ') < hash) columns.insert(hash);
      EXPECT_LE(line.size(), 100U) << line;
    }
    EXPECT_EQ(columns.size(), 1U) << *text;
  }
}

TEST(Starter, WhatIsLeftOutIsTheUsual) {
  EXPECT_EQ(parse_starter("")->source, "queue");
  EXPECT_EQ(parse_starter("stdin")->handler, "sql");
  EXPECT_EQ(parse_starter("stdin/native")->store, "sqlite");
}

TEST(Starter, UnknownWordsAreNamed) {
  const auto source = parse_starter("pigeon/sql/sqlite");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message, "there is no source \"pigeon\"");
  EXPECT_EQ(source.error().hint,
            "one of queue, file, http, kafka, nats, rabbitmq, redis_streams, sqs, stdin, claims");
  EXPECT_EQ(parse_starter("file/sqll/sqlite").error().hint, "did you mean \"sql\"?");
  EXPECT_FALSE(parse_starter("file/sql/oracle"));
  EXPECT_FALSE(parse_starter("file/sql/sqlite/more"));
  EXPECT_FALSE(parse_starter("/sql/sqlite"));
}

}  // namespace
}  // namespace semel::cli
