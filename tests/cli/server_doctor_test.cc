// Facts of a live server against the promise: reported by doctor, and at the start of a run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/leaves_nothing.h"
#include "tests/cli/payments.h"
#include "tests/cli/server_test_bed.h"

namespace semel::test {
namespace {

const std::set<std::string> kOfServerProcesses = {"semel_instance", "semel_meta"};

class ServerDoctor : public ::testing::TestWithParam<ServerKind> {
 protected:
  ServerDoctor() { EXPECT_EQ(bed_.semel({"store", "init", "-q"}).code, 0); }
  static bool postgres() { return GetParam().page == kPostgres.page; }

  const ServerTestBed bed_{GetParam(), payments(kQueue)};
};

// The tests' own servers keep less than they could, for the sake of speed.
TEST_P(ServerDoctor, LowersThePromiseByWhatTheServerIsSetTo) {
  if (postgres()) {
    bed_.sql(fmt::format("ALTER DATABASE {} SET synchronous_commit = off", bed_.database()));
  }
  const std::string setting =
      postgres() ? "synchronous_commit = off" : "innodb_flush_log_at_trx_commit = 2";
  const Ran shown = bed_.semel({"doctor"});
  EXPECT_EQ(shown.code, 1) << shown.out << shown.err;
  EXPECT_NE(shown.out.find("[ok  ] D101"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("[fail] D131  " + setting), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("[ok  ] D133  payments: "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("payments: transactional; effect once; the last writes are lost"),
            std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("  - " + setting), std::string::npos) << shown.out;
  const Ran json = bed_.semel({"doctor", "-o", "json"});
  EXPECT_EQ(json.code, 1) << json.err;
  EXPECT_EQ(json_at(json.out, "/ok"), "false");
  EXPECT_EQ(json_at(json.out, "/checks/0/grade"), "ok");
  EXPECT_EQ(json_at(json.out, "/consumers/0/guarantee"), "transactional");
  const Ran run = bed_.semel({"run", "--once"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(count_of(run.err, "warning[D131] store: " + setting), 1U) << run.err;
  EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).err, "");
}

TEST_P(ServerDoctor, LeavesNothingBehind) { expect_doctor_leaves_nothing(bed_); }

TEST_P(ServerDoctor, ADryRunLeavesNothingBehind) {
  expect_dry_run_leaves_nothing(bed_, kOfServerProcesses);
  EXPECT_EQ(bed_.sum(), 0);
}

TEST_P(ServerDoctor, ADryRunMakesNoTables) {
  const ServerTestBed bare(GetParam(), payments(kQueue));
  const Ran dry = bare.semel({"run", "--once", "--dry-run"});
  EXPECT_EQ(dry.code, 69) << dry.err;
  EXPECT_NE(dry.err.find("error[R207]"), std::string::npos) << dry.err;
  EXPECT_NE(bare.semel({"doctor"}).err.find("error[R207]"), std::string::npos);
}

TEST_P(ServerDoctor, NamesAStatementThatTheServerWillRefuse) {
  bed_.sql("ALTER TABLE account DROP COLUMN balance");
  const Ran told = bed_.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D134  payments: handler.sql.statements[0] cannot run: the "),
            std::string::npos)
      << told.out;
  EXPECT_NE(told.out.find("balance"), std::string::npos) << told.out;
  bed_.sql("ALTER TABLE account ADD COLUMN balance bigint NOT NULL DEFAULT 0");
  const Ran mended = bed_.semel({"doctor"});
  EXPECT_EQ(mended.out.find("D134"), std::string::npos) << mended.out;
  EXPECT_NE(mended.out.find("[ok  ] D133  payments: 1 of its statements"), std::string::npos)
      << mended.out;
}

TEST_P(ServerDoctor, NamesTheConditionOfALockThatTheServerWillRefuse) {
  const auto consumer = [](const char* condition) {
    return payments(kQueue, "pessimistic_lock") +
           fmt::format(
               "    lock:\n"
               "      select: SELECT id, balance FROM account WHERE id = :account FOR UPDATE\n"
               "      done_when: {}\n",
               condition);
  };
  const ServerTestBed good(GetParam(), consumer("balance > 10"));
  ASSERT_EQ(good.semel({"store", "init", "-q"}).code, 0);
  const Ran fine = good.semel({"doctor"});
  EXPECT_NE(fine.out.find("[ok  ] D133  payments: 2 of its statements"), std::string::npos)
      << fine.out << fine.err;
  const ServerTestBed bad(GetParam(), consumer("paid > 10"));
  ASSERT_EQ(bad.semel({"store", "init", "-q"}).code, 0);
  const Ran told = bad.semel({"doctor"});
  EXPECT_NE(told.out.find("[fail] D134  payments: lock.select cannot run: the "), std::string::npos)
      << told.out << told.err;
}

// On PostgreSQL every table is in the transaction.
class MySqlDoctor : public ServerDoctor {};

TEST_P(MySqlDoctor, ATableInNoTransactionStopsARunBeforeItBegins) {
  bed_.sql("ALTER TABLE account ENGINE = MyISAM");
  ASSERT_EQ(bed_.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const Ran run = bed_.semel({"run", "--once"});
  EXPECT_EQ(run.code, 78) << run.err;
  EXPECT_NE(run.err.find("error[D133]"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("MyISAM"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("fix: ALTER TABLE account ENGINE = InnoDB"), std::string::npos) << run.err;
  EXPECT_NE(bed_.semel({"doctor"}).out.find("[fail] D133"), std::string::npos);
  bed_.sql("ALTER TABLE account ENGINE = InnoDB");
  EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed_.sum(), 5);
}

TEST_P(ServerDoctor, AMissingTableStopsARunBeforeItBeginsAndLosesNothing) {
  bed_.sql("ALTER TABLE account RENAME TO hidden");
  ASSERT_EQ(bed_.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const Ran run = bed_.semel({"run", "--once"});
  EXPECT_EQ(run.code, 78) << run.err;
  EXPECT_NE(run.err.find("error[D133] payments: a table"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(GetParam().missing_table), std::string::npos) << run.err;
  bed_.sql("ALTER TABLE hidden RENAME TO account");
  EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed_.sum(), 5);
}

std::vector<ServerKind> of_mysqls_family() {
  std::vector<ServerKind> kinds = server_kinds();
  std::erase_if(kinds, [](const ServerKind& kind) { return kind.page == kPostgres.page; });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlDoctor, ::testing::ValuesIn(of_mysqls_family()),
                         [](const auto& info) { return name_of_kind(info.param); });
INSTANTIATE_TEST_SUITE_P(Servers, ServerDoctor, ::testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

}  // namespace
}  // namespace semel::test
