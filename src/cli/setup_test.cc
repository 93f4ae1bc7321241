// check, config show, init and explain, as the program runs them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/json.h"
#include "cli/test_program.h"
#include "tests/support/set_variable.h"

namespace semel::cli {
namespace {

namespace fs = std::filesystem;

using Ran = ProgramRan;

Ran run(std::vector<std::string> words) {
  return run_program(std::move(words), {add_init, add_check, add_config, add_explain});
}

std::string text_at(const std::string& document, std::string_view pointer) {
  json::Document parsed;
  if (!parsed.parse(document)) return "not JSON: " + document;
  const auto found = parsed.at(json::Pointer::parse(pointer).value());
  if (!found) return "refused";
  if (const auto* text = std::get_if<std::string>(&*found)) return *text;
  if (const auto* number = std::get_if<json::Integer>(&*found)) return std::string(number->written);
  if (const auto* flag = std::get_if<bool>(&*found)) return *flag ? "true" : "false";
  return std::holds_alternative<json::Absent>(*found) ? "absent" : "other";
}

class Setup : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "semel-setup-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { fs::remove_all(path_); }
  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  fs::path path_;
  const test::SetVariable state_{"STATE_DIRECTORY", std::nullopt};
  const test::SetVariable config_{"SEMEL_CONFIG", std::nullopt};
  const test::SetVariable output_{"SEMEL_OUTPUT", std::nullopt};
};

constexpr std::string_view kGood = R"(
consumers:
  - name: payments
    source: { stdin: {} }
    key: json:/id
    handler:
      sql:
        params: { account: json:/account, amount: json:/amount }
        statements:
          - UPDATE account SET balance = balance + :amount WHERE id = :account
)";
constexpr std::string_view kBad = R"(
consumers:
  - name: payments
    source: { stdin: {} }
    key: json:/id
    time_out: 3s
)";

TEST_F(Setup, CheckPrintsDiagnosticsAndThePromise) {
  const auto file = write("semel.yaml", kGood);
  const auto ran = run({"check", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find(file + ": 0 errors, 1 warning\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("warning[L101] "), std::string::npos);
  EXPECT_NE(ran.out.find("safe here: it runs in the same transaction"), std::string::npos);
  EXPECT_NE(ran.out.find("CONSUMER  SOURCE  KEY       STRATEGY     STORE"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("transactional"), std::string::npos);
  EXPECT_NE(ran.out.find("payments: strategy dedup_table, chosen: its handler runs"),
            std::string::npos);
  // No store was opened.
  EXPECT_FALSE(fs::exists(path_ / "semel.db"));
}

TEST_F(Setup, CheckSaysWhatAnEndpointThatHonoursKeysGives) {
  const std::string consumer = R"(
consumers:
  - name: emails
    source: { queue: {} }
    key: json:/id
    handler: { http: { url: "http://127.0.0.1:8080/send", honours_key: HONOURS } }
)";
  const auto promise = [&](const std::string& honours) {
    std::string yaml = consumer;
    yaml.replace(yaml.find("HONOURS"), 7, honours);
    return run({"check", write("semel.yaml", yaml)});
  };
  const auto keyed = promise("true");
  EXPECT_EQ(keyed.code, 0) << keyed.out;
  EXPECT_NE(keyed.out.find("keyed_retry"), std::string::npos) << keyed.out;
  EXPECT_NE(keyed.out.find("fence, chosen: a service is called, and what a crash leaves is "),
            std::string::npos)
      << keyed.out;
  EXPECT_EQ(promise("false").out.find("keyed_retry"), std::string::npos);
  EXPECT_NE(promise("false").out.find("at_least_once"), std::string::npos);
}

TEST_F(Setup, CheckOfABadConfigEndsWith78) {
  const auto ran = run({"check", write("semel.yaml", kBad)});
  EXPECT_EQ(ran.code, 78);
  EXPECT_NE(ran.out.find("error[E012] unknown field \"time_out\" in consumers[0]"),
            std::string::npos);
  EXPECT_NE(ran.out.find("did you mean \"timeout\"?"), std::string::npos);
  EXPECT_NE(ran.out.find("explain: semel explain E012"), std::string::npos);
  EXPECT_EQ(ran.out.find("CONSUMER"), std::string::npos);
  EXPECT_EQ(run({"check", (path_ / "none.yaml").string()}).code, 78);
}

TEST_F(Setup, CheckCanDenyWarnings) {
  const auto file = write("semel.yaml", kGood);
  EXPECT_EQ(run({"check", "--deny-warnings", file}).code, 1);
  const auto quiet = write("quiet.yaml", std::string(kGood) + "    accept: [L101]\n");
  EXPECT_EQ(run({"check", "--deny-warnings", quiet}).code, 0);
}

TEST_F(Setup, WhatInitPrintsHasNoWarning) {
  for (const char* parts : {"queue/sql/sqlite", "file/sql/postgres", "kafka/sql/mysql",
                            "stdin/exec/sqlite", "nats/sql/postgres", "rabbitmq/http/redis",
                            "redis_streams/sql/postgres", "sqs/sql/postgres"}) {
    for (const bool small : {false, true}) {
      const auto printed = small ? run({"init", "--small", parts}) : run({"init", parts});
      ASSERT_EQ(printed.code, 0) << parts;
      const auto checked = run({"check", "--deny-warnings", write("semel.yaml", printed.out)});
      EXPECT_EQ(checked.code, 0) << parts << '\n' << checked.out;
    }
  }
}

TEST_F(Setup, CheckAsJsonNamesEverything) {
  const auto good = run({"check", "-o", "json", write("semel.yaml", kGood)});
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(text_at(good.out, "/schema"), "semel.v1.check");
  EXPECT_EQ(text_at(good.out, "/ok"), "true");
  EXPECT_EQ(text_at(good.out, "/warnings"), "1");
  json::Document parsed;
  ASSERT_TRUE(parsed.parse(good.out));
  EXPECT_NE(good.out.find(R"("guarantee":{"name":"transactional")"), std::string::npos);
  const auto bad = run({"check", "-o", "json", write("bad.yaml", kBad)});
  EXPECT_EQ(bad.code, 78);
  EXPECT_EQ(text_at(bad.out, "/ok"), "false");
  EXPECT_NE(bad.out.find(R"("code":"E012","severity":"error")"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find(R"("path":"consumers[0].time_out")"), std::string::npos);
  EXPECT_NE(bad.out.find(R"("line":6,"column":5)"), std::string::npos);
}

TEST_F(Setup, CheckForGithub) {
  const auto ran = run({"check", "-o", "github", write("semel.yaml", kBad)});
  EXPECT_EQ(ran.code, 78);
  EXPECT_NE(ran.out.find("::error file="), std::string::npos);
  EXPECT_NE(ran.out.find(",line=6,col=5,title=E012::unknown field"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("%0Adid you mean"), std::string::npos);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1);
}

TEST_F(Setup, CheckTakesSeveralFilesAndSets) {
  const auto good = write("a.yaml", kGood);
  const auto bad = write("b.yaml", kBad);
  const auto ran = run({"check", good, bad});
  EXPECT_EQ(ran.code, 78);
  EXPECT_NE(ran.out.find("a.yaml: 0 errors"), std::string::npos);
  EXPECT_NE(ran.out.find("b.yaml: 1 error"), std::string::npos);
  EXPECT_EQ(run({"check", good, "--set", "consumers.payments.timeout=soon"}).code, 78);
  EXPECT_EQ(run({"check", "-c", good, "--set", "consumers.payments.timeout=5s"}).code, 0);
  EXPECT_EQ(run({"check", good, "-o", "xml"}).code, 2);
}

TEST_F(Setup, ConfigShowSaysValuesAndOrigins) {
  const auto file = write("semel.yaml", kGood);
  const auto plain = run({"config", "show", file});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_NE(plain.out.find("consumers[0].name = payments\n"), std::string::npos) << plain.out;
  const auto origin =
      run({"config", "show", "--origin", file, "--set", "consumers[0].batch.max=7"});
  EXPECT_NE(origin.out.find("consumers[0].name = payments   # " + file + ":3:11\n"),
            std::string::npos)
      << origin.out;
  EXPECT_NE(origin.out.find("consumers[0].batch.max = 7   # --set\n"), std::string::npos);
  EXPECT_NE(origin.out.find("consumers[0].dedup.ttl = auto   # default\n"), std::string::npos);
  const auto json = run({"config", "show", "-o", "json", file});
  EXPECT_EQ(text_at(json.out, "/schema"), "semel.v1.config");
  EXPECT_NE(json.out.find(R"({"path":"consumers[0].name","value":"payments","origin":)"),
            std::string::npos);
  const auto bad = run({"config", "show", write("bad.yaml", kBad)});
  EXPECT_EQ(bad.code, 78);
  EXPECT_TRUE(bad.out.empty());
  EXPECT_NE(bad.err.find("E012"), std::string::npos);
}

TEST_F(Setup, WhatInitPrintsPassesCheck) {
  for (const std::string expression :
       {"queue/sql/sqlite", "file/sql/sqlite", "stdin/sql/sqlite", "file/native/memory",
        "stdin/native/sqlite", "queue/exec/redis", "file/http/redis", "claims", "claims/redis"}) {
    const auto printed = run({"init", expression});
    ASSERT_EQ(printed.code, 0) << printed.err;
    const auto checked = run({"check", write("semel.yaml", printed.out)});
    EXPECT_EQ(checked.code, 0) << expression << checked.out;
    EXPECT_EQ(checked.out.find("error["), std::string::npos);
  }
  EXPECT_EQ(run({"init"}).out, run({"init", "queue/sql/sqlite"}).out);
  EXPECT_LT(run({"init", "--small"}).out.size(), run({"init"}).out.size());
}

TEST_F(Setup, InitRefusesWithAReason) {
  const auto ran = run({"init", "file/sql/memory"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.out.empty());
  EXPECT_NE(ran.err.find("statements run in the store's database, and store memory has none"),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(run({"init", "carrier-pigeon"}).code, 2);
  const auto claims = run({"init", "claims/sql/sqlite"});
  EXPECT_EQ(claims.code, 2);
  EXPECT_NE(claims.err.find("fix: claims/sqlite"), std::string::npos) << claims.err;
}

TEST_F(Setup, CheckAsksLibrdkafkaAboutItsProperties) {
  const auto checked = run({"check", write("semel.yaml",
                                           "consumers:\n"
                                           "  - name: orders\n"
                                           "    source:\n"
                                           "      kafka:\n"
                                           "        brokers: a:1\n"
                                           "        group: billing\n"
                                           "        topics: orders\n"
                                           "        properties:\n"
                                           "          session.timeout.ms: soon\n"
                                           "          fetch.mim.bytes: 1\n"
                                           "          fetch.max.bytes: 1000000\n"
                                           "    key: json:/id\n"
                                           "    handler: { exec: [cat] }\n")});
  EXPECT_EQ(checked.code, 78) << checked.out;
  EXPECT_NE(checked.out.find("2 errors"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("error[R308]"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("librdkafka does not know the property fetch.mim.bytes"),
            std::string::npos)
      << checked.out;
  EXPECT_NE(checked.out.find(":9:"), std::string::npos)
      << "the place of the value: " << checked.out;
}

TEST_F(Setup, InitLists) {
  const auto text = run({"init", "--list"});
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out,
            "semel init SOURCE/HANDLER/STORE > semel.yaml\n"
            "\n"
            "SOURCE    queue, file, http, kafka, nats, rabbitmq, redis_streams, sqs, stdin,\n"
            "          claims\n"
            "HANDLER   sql, exec, http, kafka, nats, rabbitmq, redis_streams, sns, sqs,\n"
            "          native\n"
            "STORE     sqlite, postgres, mysql, redis, memory\n"
            "STRATEGY  natural, query, pessimistic_lock, optimistic_lock, dedup_table, inbox,\n"
            "          state_machine, fence, at_most_once\n"
            "\n"
            "Any of each, as queue/sql/sqlite, which is the default; claims has no handler:\n"
            "semel init claims/sqlite. A strategy is a field of the consumer: the starter has\n"
            "one that fits, and semel explain strategies tells them apart.\n"
            "Not together: queue with memory, sql with memory or redis.\n"
            "What each one is, and each combination: semel init --list -o json\n");
  EXPECT_NE(run({"init", "queue/exec/redis"}).out.find("  redis:"), std::string::npos);
  EXPECT_NE(run({"init", "queue/exec/redis", "--small"}).out.find("  redis:"), std::string::npos);
  const auto json = run({"init", "--list", "-o", "json"});
  EXPECT_EQ(text_at(json.out, "/schema"), "semel.v1.init");
  EXPECT_NE(json.out.find(R"("expression":"claims/redis","legal":true)"), std::string::npos);
  EXPECT_NE(json.out.find(R"("expression":"stdin/sql/memory","legal":false,"reason":)"),
            std::string::npos)
      << json.out;
}

TEST_F(Setup, Explain) {
  const auto page = run({"explain", "E031"});
  EXPECT_EQ(page.code, 0);
  EXPECT_TRUE(page.out.starts_with("E031: no key\n")) << page.out;
  EXPECT_NE(run({"explain", "guarantees"}).out.find("at_least_once"), std::string::npos);
  const auto list = run({"explain"});
  EXPECT_NE(list.out.find("exit-codes"), std::string::npos);
  EXPECT_NE(list.out.find("R210"), std::string::npos);
  const auto json = run({"explain", "w033", "-o", "json"});
  EXPECT_EQ(text_at(json.out, "/code"), "W033");
  EXPECT_EQ(text_at(json.out, "/schema"), "semel.v1.explain");
  EXPECT_EQ(text_at(run({"explain", "keys", "-o", "json"}).out, "/topic"), "keys");
  EXPECT_EQ(text_at(run({"explain", "-o", "json"}).out, "/schema"), "semel.v1.explain");
  const auto unknown = run({"explain", "outcome"});
  EXPECT_EQ(unknown.code, 4);
  EXPECT_NE(unknown.err.find("did you mean \"outcomes\"?"), std::string::npos);
}

}  // namespace
}  // namespace semel::cli
