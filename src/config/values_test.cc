// A config that a program sets in code passes the same checks as one from a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"

namespace semel::config {
namespace {

std::string first_refusal(const Loaded& loaded) {
  for (const Diagnostic& one : loaded.diagnostics) {
    if (one.severity == Diagnostic::Severity::kError) return format(one, false);
  }
  return "";
}

StoreConfig sqlite_at(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  StoreConfig store;
  store.kind = options;
  return store;
}

std::vector<std::pair<std::string, std::string>> without_store(const Loaded& loaded) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const EffectiveValue& one : loaded.effective) {
    if (!one.path.starts_with("store.")) values.emplace_back(one.path, one.value);
  }
  std::ranges::sort(values);
  return values;
}

TEST(ConfigValues, TheSameValuesAreTheSameConfigAsAFiles) {
  const Loaded file = load_text(R"(version: 1
store: { sqlite: { path: /data/bank.db }, on_unavailable: fail }
drain_timeout: 5s
consumers:
  - name: mails
    source: { queue: {} }
  - name: payments
    source: { kafka: { brokers: "a:9092,b:9092", group: bank, topics: [payments, refunds] } }
    key: { from: [json:/id, header:X-Id], missing: fail }
    order: { key: json:/account, on_failure: skip }
    strategy: dedup_table
    retry: { attempts: 3, backoff: 2s..1m }
    dedup: { ttl: 30d }
    publish: [mails]
)",
                                "semel.yaml");
  ASSERT_TRUE(file.config) << first_refusal(file);
  const Loaded code = load_values(
      {"store.on_unavailable=fail", "drain_timeout=5s", "consumers[0].name=mails",
       "consumers[0].source.queue={}", "consumers[1].name=payments",
       "consumers[1].source.kafka.brokers=a:9092,b:9092", "consumers[1].source.kafka.group=bank",
       "consumers[1].source.kafka.topics[0]=payments",
       "consumers[1].source.kafka.topics[1]=refunds", "consumers[1].key.from[0]=json:/id",
       "consumers[1].key.from[1]=header:X-Id", "consumers[1].key.missing=fail",
       "consumers[1].order.key=json:/account", "consumers[1].order.on_failure=skip",
       "consumers[1].strategy=dedup_table", "consumers[1].retry.attempts=3",
       "consumers[1].retry.backoff=2s..1m", "consumers[1].dedup.ttl=30d",
       "consumers[1].publish=mails"},
      sqlite_at("/data/bank.db"));
  ASSERT_TRUE(code.config) << first_refusal(code);
  EXPECT_EQ(without_store(code), without_store(file));
  EXPECT_EQ(code.config->store.on_unavailable, StoreConfig::OnUnavailable::kFail);
  EXPECT_EQ(std::get<SqliteOptions>(code.config->store.kind).path, "/data/bank.db");
  EXPECT_EQ(code.config->consumers[1].key.hash(), file.config->consumers[1].key.hash());
}

// The checks use the traits of the store that the program opens.
TEST(ConfigValues, TheChecksKnowTheProgramsStore) {
  const std::vector<std::string> values = {"consumers[0].name=payments",
                                           "consumers[0].source.queue={}",
                                           "consumers[0].strategy=dedup_table"};
  EXPECT_TRUE(load_values(values, sqlite_at("bank.db")).config);
  StoreConfig memory;
  memory.kind = MemoryOptions{};
  const Loaded refused = load_values(values, memory);
  EXPECT_FALSE(refused.config);
  EXPECT_NE(first_refusal(refused).find("store memory has none"), std::string::npos)
      << first_refusal(refused);
}

TEST(ConfigValues, WhatIsWrongIsSaidAsOfAFile) {
  const auto refusal = [](const std::string& value) {
    return first_refusal(
        load_values({"consumers[0].name=payments", "consumers[0].source.queue={}", value},
                    sqlite_at("bank.db")));
  };
  EXPECT_NE(refusal("consumers[0].retry.attempts=many").find("consumers[0].retry.attempts"),
            std::string::npos);
  EXPECT_NE(refusal("consumers[0].retry.atempts=3").find("attempts"), std::string::npos);
  EXPECT_NE(refusal("consumers[0].key.from={").find("setting"), std::string::npos);
  EXPECT_NE(refusal("store.sqlite.path=other.db").find("to the runner itself"), std::string::npos);
  EXPECT_NE(first_refusal(load_values({}, sqlite_at("bank.db"))).find("consumers"),
            std::string::npos);
}

TEST(ConfigValues, AVariableIsNotLookedUp) {
  const Loaded loaded = load_values({"consumers[0].name=payments", "consumers[0].key=json:/id",
                                     "consumers[0].source.file.path=${HOME}.jsonl"},
                                    sqlite_at("bank.db"));
  ASSERT_TRUE(loaded.config) << first_refusal(loaded);
  EXPECT_EQ(std::get<FileSource>(loaded.config->consumers[0].source).spec.path, "${HOME}.jsonl");
}

}  // namespace
}  // namespace semel::config
