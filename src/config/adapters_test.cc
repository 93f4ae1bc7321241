// Configs that name a component which the build lacks: the error names the place and the build
// option.
#include "config/adapters.h"

#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

Loaded load_without(std::vector<std::string_view> missing, std::string_view yaml) {
  LoadOptions options = with_env({});
  options.missing_adapters = std::move(missing);
  return load_text(yaml, "semel.yaml", options);
}

TEST(ConfigAdapters, ThisBuildHasThemAll) { EXPECT_TRUE(missing_adapters().empty()); }

// With the adapter the config is valid; without it, the error names the place.
void expect_missing(std::string_view adapter, std::string_view path, std::string_view yaml) {
  const Loaded whole = load_without({}, yaml);
  ASSERT_TRUE(whole.config) << all_of(whole);
  const Loaded loaded = load_without({adapter}, yaml);
  EXPECT_FALSE(loaded.config) << path;
  bool found = false;
  for (const Diagnostic& said : loaded.diagnostics) {
    if (said.code != "E064" || said.path != path) continue;
    found = true;
    EXPECT_GT(said.where.line, 0) << path;
    EXPECT_NE(said.help.find("-DSEMEL_WITH_" + std::string(adapter) + "=ON"), std::string::npos)
        << said.help;
  }
  EXPECT_TRUE(found) << path << "\n" << all_of(loaded);
}

TEST(ConfigAdapters, EachPlaceThatNamesOneIsRefusedWithTheOption) {
  struct Case {
    std::string_view adapter, path, yaml;
  };
  constexpr std::string_view kWork = "    key: json:/id\n    handler: { exec: [./work] }\n";
  const auto sources = [&](std::string_view source) {
    return "consumers:\n  - name: a\n    source: " + std::string(source) + "\n" +
           std::string(kWork);
  };
  const auto handlers = [](std::string_view handler) {
    return "consumers:\n  - name: a\n    source: { queue: {} }\n    key: json:/id\n    handler: " +
           std::string(handler) + "\n";
  };
  const auto before = [&](std::string_view root) {
    return std::string(root) + "\n" + sources("{ queue: {} }");
  };
  const std::string postgres = before("store: { postgres: 'postgresql://localhost/a' }");
  const std::string mysql = before("store: { mysql: 'mysql://localhost/a' }");
  const std::string redis = before("store: { redis: 'redis://localhost/0' }");
  const std::string admin = before("admin: { listen: 127.0.0.1:8585 }");
  const std::string traces = before("traces: { otlp: 'http://127.0.0.1:4318' }");
  const std::string short_traces = before("traces: 'http://127.0.0.1:4318'");
  const std::string kafka =
      sources("{ kafka: { brokers: localhost:9092, topics: [a], group: a } }");
  const std::string rabbitmq = sources("{ rabbitmq: { url: 'amqp://localhost', queue: a } }");
  const std::string nats = sources("{ nats: { url: 'nats://localhost', stream: a, durable: a } }");
  const std::string stream =
      sources("{ redis_streams: { url: 'redis://localhost/0', stream: a, group: a } }");
  const std::string sqs =
      sources("{ sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/a' } }");
  const std::string front =
      sources("{ file: a.jsonl }") + "    front: { redis: 'redis://localhost/0' }\n";
  const std::string http = handlers("{ http: { url: 'http://localhost/a' } }");
  const std::string to_kafka = handlers("{ kafka: { brokers: localhost:9092, topic: a } }");
  const std::string to_rabbitmq = handlers("{ rabbitmq: { url: 'amqp://localhost', queue: a } }");
  const std::string to_nats = handlers("{ nats: { url: 'nats://localhost', subject: a } }");
  const std::string to_stream =
      handlers("{ redis_streams: { url: 'redis://localhost/0', stream: a } }");
  const std::string to_sns = handlers("{ sns: { topic_arn: 'arn:aws:sns:eu-west-1:1:a' } }");
  const std::string to_sqs =
      handlers("{ sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/a' } }");
  const std::string steps = handlers(
      "{ steps: [ { name: s, http: { url: 'http://localhost/a' }, "
      "undo: { http: { url: 'http://localhost/b' } } } ] }");
  for (const Case& each : {Case{"POSTGRES", "store.postgres", postgres},
                           Case{"MYSQL", "store.mysql", mysql},
                           Case{"REDIS", "store.redis", redis},
                           Case{"ADMIN", "admin", admin},
                           Case{"HTTP", "traces", traces},
                           Case{"HTTP", "traces", short_traces},
                           Case{"KAFKA", "consumers[0].source.kafka", kafka},
                           Case{"RABBITMQ", "consumers[0].source.rabbitmq", rabbitmq},
                           Case{"NATS", "consumers[0].source.nats", nats},
                           Case{"SQS", "consumers[0].source.sqs", sqs},
                           Case{"REDIS", "consumers[0].front.redis", front},
                           Case{"REDIS", "consumers[0].source.redis_streams", stream},
                           Case{"HTTP", "consumers[0].handler.http", http},
                           Case{"KAFKA", "consumers[0].handler.kafka", to_kafka},
                           Case{"RABBITMQ", "consumers[0].handler.rabbitmq", to_rabbitmq},
                           Case{"NATS", "consumers[0].handler.nats", to_nats},
                           Case{"REDIS", "consumers[0].handler.redis_streams", to_stream},
                           Case{"SQS", "consumers[0].handler.sns", to_sns},
                           Case{"SQS", "consumers[0].handler.sqs", to_sqs},
                           Case{"HTTP", "consumers[0].handler.steps[0].http", steps},
                           Case{"HTTP", "consumers[0].handler.steps[0].undo.http", steps}}) {
    expect_missing(each.adapter, each.path, each.yaml);
  }
}

TEST(ConfigAdapters, WhatAConfigDoesNotNameIsNotMissed) {
  const Loaded loaded = load_without(
      {"POSTGRES", "MYSQL", "REDIS", "KAFKA", "RABBITMQ", "NATS", "SQS", "HTTP", "ADMIN"}, kSmall);
  EXPECT_TRUE(loaded.config) << all_of(loaded);
}

TEST(ConfigAdapters, SaysItWhereItStands) {
  const Loaded loaded = load_without({"REDIS"},
                                     "store: { redis: 'redis://localhost/0' }\n"
                                     "consumers:\n"
                                     "  - name: a\n"
                                     "    source: { queue: {} }\n"
                                     "    key: json:/id\n");
  EXPECT_EQ(
      all_of(loaded),
      "error[E064] store.redis: this Semel was built without Redis                 "
      "semel.yaml:1:17\n"
      "  1 |  store: { redis: 'redis://localhost/0' }\n"
      "    |                  ~~~~~~~~~~~~~~~~~~~~~\n"
      "  fix: build Semel with -DSEMEL_WITH_REDIS=ON; ./setup builds it with every adapter\n");
}

}  // namespace
}  // namespace semel::config
