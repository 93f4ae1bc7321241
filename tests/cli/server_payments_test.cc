// The scenario a user brings, on a database server: payments, some twice, some keys used again;
// runs that are killed; and the operator's commands beside them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>
#include <vector>

#include "tests/cli/payments.h"
#include "tests/cli/server_test_bed.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

struct ServerRunSize {
  std::size_t payments;
  std::size_t reused;
  int kills;
};
constexpr ServerRunSize kShortServerRun = {2'400, 6, 3};
constexpr ServerRunSize kLongServerRun = {60'000, 50, 25};

// The long one is for the soak: SEMEL_SOAK=1.
const ServerRunSize& server_run_size() { return soaks() ? kLongServerRun : kShortServerRun; }

std::uint64_t new_seed() {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

std::string conflicts(const ServerTestBed& bed) {
  return json_at(bed.semel({"dlq", "list", "--reason", "key.conflict", "-o", "json"}).out,
                 "/count");
}

struct Way {
  ServerKind kind;
  const char* strategy;
};

std::vector<Way> ways() {
  std::vector<Way> ways;
  for (const ServerKind& kind : server_kinds()) {
    for (const char* strategy :
         {"inbox", "dedup_table", "state_machine", "pessimistic_lock", "optimistic_lock"}) {
      ways.push_back({kind, strategy});
    }
  }
  return ways;
}

// The row that a lock strategy looks at: one for each payment, made by the handler.
constexpr const char* kPaidTable = "CREATE TABLE paid (id VARCHAR(40) PRIMARY KEY, version BIGINT)";
constexpr const char* kRowMade =
    "        params: { id: json:/id, account: json:/account, amount: json:/amount }\n"
    "        statements:\n"
    "          - INSERT INTO paid (id, version) VALUES (:id, :amount)\n";

std::string row_lines(std::string_view strategy) {
  if (strategy == "pessimistic_lock") {
    return "    lock:\n"
           "      select: SELECT version FROM paid WHERE id = :id FOR UPDATE\n"
           "      done_when: version >= 0\n";
  }
  if (strategy == "optimistic_lock") {
    return "    version:\n"
           "      from: json:/amount\n"
           "      current: SELECT version FROM paid WHERE id = :id\n"
           "      missing: handle\n";
  }
  return "";
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

class ServerPayments : public ::testing::TestWithParam<Way> {
 protected:
  static std::string consumer(std::string_view source) {
    const std::string_view strategy = GetParam().strategy;
    const std::string plain = payments(source, strategy);
    const std::string row = row_lines(strategy);
    if (row.empty()) return plain;
    constexpr std::string_view kParams =
        "        params: { account: json:/account, amount: json:/amount }\n"
        "        statements:\n";
    return replaced(replaced(plain, kParams, kRowMade), "    handler:\n", row + "    handler:\n");
  }
};

TEST_P(ServerPayments, AFileIsAppliedOnceHoweverOftenTheRunIsKilled) {
  const ServerTestBed bed(GetParam().kind, consumer("{ file: { path: in.jsonl } }"));
  bed.sql(kPaidTable);
  const std::uint64_t seed = new_seed();
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const auto parts = static_cast<std::size_t>(server_run_size().kills);
  const KilledRuns made = kill_runs(
      bed.config(), bed.file("in.jsonl"), server_run_size().payments / parts,
      server_run_size().reused / parts, server_run_size().kills, seed, [&] { return bed.sum(); });
  const Ran last = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(last.out, "");
  EXPECT_EQ(bed.sum(), made.sum);
  EXPECT_EQ(conflicts(bed), std::to_string(made.reused));

  const Ran again =
      bed.semel({"run", "--once", "-o", "json", "--set", "consumers[0].source.file.from=start"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), std::to_string(made.deliveries));
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  EXPECT_EQ(bed.sum(), made.sum);
}

TEST_P(ServerPayments, TwoRunnersOnOneQueueOneOfThemKilledAgainAndAgain) {
  const ServerTestBed bed(GetParam().kind, consumer(kQueue));
  bed.sql(kPaidTable);
  const Payments made = make_payments(server_run_size().payments, 0, new_seed());
  const Ran sent = bed.semel({"send", "payments", "-", "-o", "json"}, {.input = made.lines});
  ASSERT_EQ(sent.code, 0) << sent.err;
  ASSERT_EQ(json_at(sent.out, "/sent"), std::to_string(made.deliveries));
  Program steady({"run", bed.config(), "-q"});
  EXPECT_EQ(
      kill_runners(bed.config(), made.sum, server_run_size().kills, [&] { return bed.sum(); }),
      server_run_size().kills);
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  steady.signal(SIGTERM);
  EXPECT_EQ(steady.wait().code, 0) << steady.err();
  EXPECT_EQ(bed.sum(), made.sum);
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerPayments, ::testing::ValuesIn(ways()),
                         [](const auto& info) {
                           return name_of_kind(info.param.kind) + "_" + info.param.strategy;
                         });

class ServerOperate : public ::testing::TestWithParam<ServerKind> {
 protected:
  const ServerTestBed bed{GetParam(), payments(kQueue)};
};

TEST_P(ServerOperate, CommandsWorkBesideARun) {
  const Ran before = bed.semel({"status"});
  EXPECT_EQ(before.code, 69) << before.err;
  EXPECT_NE(before.err.find("semel store init"), std::string::npos) << before.err;

  const Ran made = bed.semel({"store", "init", "-o", "json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(json_at(made.out, "/made"), "true");
  EXPECT_EQ(json_at(made.out, "/consumers/0"), "payments");
  EXPECT_EQ(json_at(bed.semel({"store", "init", "-o", "json"}).out, "/made"), "false");

  Program runner({"run", bed.config()});
  Program tap({"tap", "payments", "-c", bed.config(), "--limit", "1"});
  ASSERT_TRUE(tells(tap, "watching process " + std::to_string(runner.pid()))) << tap.err();
  const Ran sent =
      bed.semel({"send", "payments", "-"}, {.input = payment("p-1", 1, 5) + payment("p-1", 1, 6)});
  ASSERT_EQ(sent.code, 0) << sent.err;
  ASSERT_TRUE(runner.says("p-1  conflict")) << runner.out() << runner.err();
  EXPECT_EQ(tap.wait().code, 0);
  EXPECT_NE(tap.out().find("p-1"), std::string::npos) << tap.out();

  const Ran status = bed.semel({"status", "-o", "json"});
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_EQ(json_at(status.out, "/consumers/0/state"), "running");
  EXPECT_EQ(json_at(status.out, "/consumers/0/guarantee"), "transactional");
  EXPECT_EQ(json_at(status.out, "/running_pids/0"), std::to_string(runner.pid()));
  EXPECT_EQ(json_at(status.out, "/completed"), "(absent)");
  EXPECT_EQ(json_at(status.out, "/store/completed"), "1");
  EXPECT_EQ(json_at(bed.semel({"records", "show", "p-1", "-o", "json"}).out, "/records/0/state"),
            "completed");
  EXPECT_EQ(conflicts(bed), "1");
  EXPECT_EQ(bed.semel({"consumers", "pause", "payments"}).code, 0);
  EXPECT_EQ(bed.semel({"consumers", "resume", "payments"}).code, 0);
  EXPECT_EQ(bed.semel({"dlq", "discard", "--all", "--yes"}).code, 0);
  EXPECT_EQ(bed.semel({"records", "forget", "p-1", "--yes"}).code, 0);
  EXPECT_EQ(bed.semel({"store", "sweep"}).code, 0);
  const Ran verified = bed.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  const Ran stats = bed.semel({"store", "stats"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_TRUE(stats.out.starts_with(
      fmt::format("{} 127.0.0.1:{}/{}: ", GetParam().store, bed.server().port(), bed.database())))
      << stats.out;
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0) << runner.err();
  EXPECT_EQ(bed.sum(), 5);
}

TEST_P(ServerOperate, ATableOfTheBusinessThatGoesIsToldAndTheMessageKept) {
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  Program runner({"run", bed.config(), "--set", "consumers[0].retry.attempts=1"});
  ASSERT_TRUE(comes_true([&] {
    return json_at(bed.semel({"status", "-o", "json"}).out, "/consumers/0/state") == "running";
  }));
  bed.sql("ALTER TABLE account RENAME TO hidden");
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  EXPECT_TRUE(runner.says(GetParam().missing_table)) << runner.out() << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0) << runner.err();
  bed.sql("ALTER TABLE hidden RENAME TO account");
  EXPECT_EQ(bed.semel({"dlq", "replay", "--all", "--yes"}).code, 0);
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed.sum(), 5);
}

TEST_P(ServerOperate, ThePlanOfAMigrationIsTheSqlThatMakesTheTables) {
  const Ran plan = bed.semel({"store", "migrate", "--dry-run"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find(GetParam().first_table), std::string::npos) << plan.out;
  EXPECT_EQ(bed.semel({"status"}).code, 69) << "a dry run makes nothing";
  bed.sql(plan.out);
  const Ran done = bed.semel({"store", "migrate", "--dry-run", "-o", "json"});
  EXPECT_EQ(json_at(done.out, "/from"), json_at(done.out, "/to"));
  EXPECT_EQ(json_at(done.out, "/sql"), "");
  EXPECT_EQ(bed.semel({"status"}).code, 0);
  EXPECT_NE(bed.semel({"store", "migrate"}).err.find("up to date"), std::string::npos);
}

TEST_P(ServerOperate, ItsPageShowsAConfigThatWorks) {
  const StartOptions with_url = {.environment = {"DATABASE_URL=" + bed.url()}};
  const Words config = {"-c", input(fmt::format("tests/cli/{}/semel.yaml", GetParam().page))};
  const auto semel = [&](Words words) {
    words.insert(words.end(), config.begin(), config.end());
    return run(words, with_url);
  };
  EXPECT_EQ(semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  EXPECT_EQ(semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed.sum(), 5);
  const Ran shown = semel({"config", "show", "--origin"});
  EXPECT_NE(shown.out.find(fmt::format("store.{}.url = {}", GetParam().store, bed.url())),
            std::string::npos)
      << shown.out;
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerOperate, ::testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

}  // namespace
}  // namespace semel::test
