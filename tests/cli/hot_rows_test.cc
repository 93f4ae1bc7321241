// Messages that change the same few rows, on a database server: they end, each once, and none is
// given up because of another.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/server_test_bed.h"

namespace semel::test {
namespace {

constexpr int kMessages = 1'000;
constexpr int kAccounts = 10;
constexpr int kBills = 25;
// As many as run at a time where the config does not say.
constexpr int kWorkers = 8;

class HotRows : public ::testing::TestWithParam<ServerKind> {};

// The account is chosen by a step that shares no factor with the number of bills.
std::string versions_in_order() {
  std::string lines;
  for (int i = 0; i < kMessages; ++i) {
    lines += fmt::format("{{\"id\":\"m{}\",\"bill\":{},\"version\":{},\"account\":{}}}\n", i,
                         i % kBills, i / kBills, 1 + i * 7 % kAccounts);
  }
  return lines;
}

void make_bills(const ServerTestBed& bed) {
  std::string bills;
  for (int id = 0; id < kBills; ++id) bills += fmt::format("{}({}, 0)", id == 0 ? "" : ",", id);
  bed.sql(
      "CREATE TABLE bill(id integer PRIMARY KEY, version bigint NOT NULL);"
      "INSERT INTO bill VALUES " +
      bills);
}

// An early version that counts as a try is a dead letter at once.
constexpr const char* kVersionedBill =
    "    key: { from: [json:/id] }\n"
    "    source: { queue: {} }\n"
    "    strategy: optimistic_lock\n"
    "    version:\n"
    "      from: json:/version\n"
    "      current: SELECT version FROM bill WHERE id = :bill\n"
    "    retry: { attempts: 1 }\n"
    "    handler:\n"
    "      sql:\n"
    "        params: { bill: json:/bill, version: json:/version, account: json:/account }\n"
    "        statements:\n"
    "          - UPDATE bill SET version = version + 1 WHERE id = :bill AND version = :version\n"
    "          - UPDATE account SET balance = balance + 1 WHERE id = :account\n";

class VersionedRows : public HotRows {
 protected:
  VersionedRows() {
    make_bills(bed_);
    const Ran sent =
        bed_.semel({"send", "payments", "-", "-o", "json"}, {.input = versions_in_order()});
    EXPECT_EQ(json_at(sent.out, "/sent"), std::to_string(kMessages)) << sent.err;
  }
  void expect_each_done() const {
    EXPECT_EQ(bed_.sum(), kMessages);
    EXPECT_EQ(bed_.number("SELECT sum(version) FROM bill"), kMessages);
    EXPECT_EQ(json_at(bed_.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
  }

  const ServerTestBed bed_{GetParam(), kVersionedBill};
};

TEST_P(VersionedRows, OfOneWorkerComeInTheirOrder) {
  const Ran ran =
      bed_.semel({"run", "--once", "-o", "json", "--set", "consumers[0].concurrency=1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/outcomes/retry"), "0") << ran.out;
  expect_each_done();
}

TEST_P(VersionedRows, OfManyWorkersWaitForEachOther) {
  const Ran ran = bed_.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_each_done();
}

TEST_P(VersionedRows, OfTwoProcessesWaitForEachOther) {
  // Neither knows what the other one has in hand: only that the rows move.
  const std::string attempts = "consumers[0].retry.attempts=8";
  Program other({"run", bed_.config(), "-q", "--set", attempts});
  const Ran ran = bed_.semel({"run", "--once", "-q", "--set", attempts});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(comes_true([&] { return bed_.sum() == kMessages; }));
  other.signal(SIGTERM);
  EXPECT_EQ(other.wait().code, 0);
  expect_each_done();
}

constexpr const char* kTransfer =
    "    key: { from: [json:/id] }\n"
    "    source: { queue: {} }\n"
    "    handler:\n"
    "      sql:\n"
    "        params: { from: json:/from, to: json:/to }\n"
    "        statements:\n"
    "          - UPDATE account SET balance = balance - 1 WHERE id = :from\n"
    "          - UPDATE account SET balance = balance + 3 WHERE id = :to\n";

class Transfers : public HotRows {
 protected:
  Transfers() {
    std::string lines;
    for (int i = 0; i < kMessages; ++i) {
      const int from = i * 7 % kAccounts;
      const int to = (from + 1 + i / 3 % (kAccounts - 1)) % kAccounts;
      lines += fmt::format("{{\"id\":\"m{}\",\"from\":{},\"to\":{}}}\n", i, 1 + from, 1 + to);
    }
    const Ran sent = bed_.semel({"send", "payments", "-", "-o", "json"}, {.input = lines});
    EXPECT_EQ(json_at(sent.out, "/sent"), std::to_string(kMessages)) << sent.err;
  }
  // Counts only PostgreSQL's, each found after a second; the other servers find them at once.
  std::int64_t deadlocks() const {
    if (GetParam().store != kPostgres.store) return 0;
    return bed_.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
  }

  const ServerTestBed bed_{GetParam(), kTransfer};
};

TEST_P(Transfers, MakeNoStormOfDeadlocks) {
  const Ran ran = bed_.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed_.sum(), 2 * kMessages);
  EXPECT_LE(deadlocks(), kWorkers) << "after the first they run one at a time";
}

TEST_P(Transfers, OfTwoProcessesMakeNone) {
  Program other({"run", bed_.config(), "-q"});
  const Ran ran = bed_.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(comes_true([&] { return bed_.sum() == 2 * kMessages; }));
  other.signal(SIGTERM);
  EXPECT_EQ(other.wait().code, 0);
  EXPECT_LE(deadlocks(), 2 * kWorkers);
}

// Somebody else has rows locked for long: only their messages wait.
class LockedRows : public HotRows {
 protected:
  // `blocked` messages need what `locks` reads.
  static void expect_others_done(const ServerTestBed& bed, const std::string& lines,
                                 const std::string& locks, int blocked) {
    ASSERT_EQ(bed.semel({"send", "payments", "-"}, {.input = lines}).code, 0);
    const auto session = bed.server().open_session(bed.database());
    session->query("BEGIN");
    session->query(locks);
    Program program({"run", bed.config(), "--once", "-q"});
    EXPECT_TRUE(comes_true([&] { return bed.sum() == kMessages - blocked; }));
    session->query("COMMIT");
    const Ran ran = program.wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(bed.sum(), kMessages);
    EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
  }
};

class LockedVersions : public LockedRows {};
class LockedByName : public LockedRows {};

TEST_P(LockedVersions, OnlyTheirMessagesWait) {
  const ServerTestBed bed(GetParam(), kVersionedBill);
  make_bills(bed);
  expect_others_done(bed, versions_in_order(), "SELECT version FROM bill WHERE id = 3 FOR UPDATE",
                     kMessages / kBills);
}

TEST_P(LockedRows, OnlyTheirMessagesWait) {
  const ServerTestBed bed(
      GetParam(),
      "    key: { from: [json:/id] }\n"
      "    source: { queue: {} }\n"
      "    handler:\n"
      "      sql:\n"
      "        params: { account: json:/account }\n"
      "        statements:\n"
      "          - UPDATE account SET balance = balance + 1 WHERE id = :account\n");
  expect_others_done(bed, versions_in_order(),
                     "SELECT balance FROM account WHERE id = 4 FOR UPDATE", kMessages / kAccounts);
}

TEST_P(LockedByName, OnlyItsMessagesWait) {
  const ServerTestBed bed(
      GetParam(),
      "    key: { from: [json:/id] }\n"
      "    source: { queue: {} }\n"
      "    strategy: pessimistic_lock\n"
      "    lock:\n"
      "      select: SELECT version FROM bill WHERE id = :bill FOR UPDATE\n"
      "      done_when: version < 0\n"
      "    handler:\n"
      "      sql:\n"
      "        params: { bill: json:/bill, account: json:/account }\n"
      "        statements:\n"
      "          - UPDATE account SET balance = balance + 1 WHERE id = :account\n");
  make_bills(bed);
  expect_others_done(bed, versions_in_order(), "SELECT version FROM bill WHERE id = 3 FOR UPDATE",
                     kMessages / kBills);
}

const auto kKinds = ::testing::ValuesIn(server_kinds());
constexpr auto kind_name = [](const auto& info) { return name_of_kind(info.param); };
INSTANTIATE_TEST_SUITE_P(Server, VersionedRows, kKinds, kind_name);
INSTANTIATE_TEST_SUITE_P(Server, Transfers, kKinds, kind_name);
INSTANTIATE_TEST_SUITE_P(Server, LockedRows, ::testing::Values(kPostgres, kMariaDb), kind_name);
INSTANTIATE_TEST_SUITE_P(Server, LockedVersions, ::testing::Values(kMariaDb), kind_name);
INSTANTIATE_TEST_SUITE_P(Server, LockedByName, ::testing::Values(kPostgres), kind_name);

}  // namespace
}  // namespace semel::test
