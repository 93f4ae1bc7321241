// order: on a topic: what a message that waits for its next try does to those behind it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/kafka_test_bed.h"

namespace semel::test {
namespace {

// The account that fails is not there; those that count from 1 to 100 are.
constexpr int kAway = 4711;

class KafkaOrder : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  static KafkaTestBed::Options ordered(const std::string& on_failure, int partitions = 1) {
    return {.partitions = partitions,
            .more = fmt::format("    order: {{ key: json:/account, on_failure: {} }}\n"
                                "    retry: {{ attempts: 1000, backoff: 300ms..300ms }}\n",
                                on_failure)};
  }
  // So many rounds, each with a message of every account; the failing one's among them.
  static std::size_t produce_rounds(const KafkaTestBed& bed, int rounds, int accounts,
                                    int first = 0) {
    std::vector<KafkaServer::Record> records;
    const auto add = [&](const std::string& value) {
      records.push_back({.value = value, .partition = 0});
    };
    for (int round = first; round < first + rounds; ++round) {
      for (int account = 1; account <= accounts; ++account) {
        add(payment(fmt::format("r{:03}-a{}", round, account), account, 1));
        if (account == accounts / 2) add(payment(fmt::format("r{:03}-away", round), kAway, 1));
      }
    }
    bed.server().produce(bed.topic(), records);
    return records.size();
  }
  static std::int64_t offset(const KafkaTestBed& bed) {
    return bed.server().committed(bed.group(), bed.topic(), 0);
  }
  static int retrying(const KafkaTestBed& bed) {
    const std::string told =
        json_at(bed.semel({"status", "-o", "json"}).out, "/consumers/0/retrying");
    return told.starts_with('(') ? 0 : std::stoi(told);
  }
  // The account comes, and what waited for it is done.
  static void mend(const KafkaTestBed& bed) {
    bed.sql(fmt::format("INSERT INTO account (id, balance) VALUES ({}, 0)", kAway));
  }
  // Each effect once, and those of each account in the order of their rounds.
  static void expect_in_order(const KafkaTestBed& bed, int rounds, int accounts) {
    const std::string rows = " FROM effect WHERE id LIKE 'r%'";
    EXPECT_EQ(bed.number("SELECT count(*)" + rows), rounds * (accounts + 1));
    EXPECT_EQ(bed.number("SELECT count(DISTINCT id)" + rows), rounds * (accounts + 1));
    EXPECT_EQ(bed.number("SELECT count(*) FROM effect e JOIN effect l ON l.place > e.place AND "
                         "substr(l.id, 6) = substr(e.id, 6) WHERE l.id < e.id"),
              0)
        << "out of order";
  }
  static void stop(Program& runner) {
    runner.signal(SIGTERM);
    EXPECT_EQ(runner.wait().code, 0) << runner.err();
  }
};

TEST_P(KafkaOrder, OneKeyOfAThousandIsHeldAndThePartitionGoesOn) {
  constexpr int kRounds = 3;
  constexpr int kAccounts = 999;
  KafkaTestBed bed(GetParam(), KafkaServer::shared(), ordered("hold_key"));
  bed.add_accounts(kAccounts);
  const auto messages = static_cast<std::int64_t>(produce_rounds(bed, kRounds, kAccounts));
  Program runner({"run", bed.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed.sum() == kRounds * kAccounts; })) << bed.sum();
  EXPECT_TRUE(comes_true([&] { return offset(bed) == messages; }))
      << offset(bed) << ": what fails is in the store, and pins no offset";
  EXPECT_EQ(bed.number("SELECT count(*) FROM effect WHERE id LIKE '%away'"), 0);
  mend(bed);
  EXPECT_TRUE(comes_true([&] { return bed.sum() == kRounds * (kAccounts + 1); }));
  stop(runner);
  expect_in_order(bed, kRounds, kAccounts);
}

TEST_P(KafkaOrder, BlockHoldsThePartitionAndItsOffset) {
  constexpr int kRounds = 5;
  constexpr int kAccounts = 4;
  constexpr int kMarks = 3;
  KafkaTestBed bed(GetParam(), KafkaServer::shared(), ordered("block", 2));
  produce_rounds(bed, kRounds, kAccounts);
  Program runner({"run", bed.config(), "-q"});
  // Messages of one batch with the first that fails may run; none behind it does.
  EXPECT_TRUE(comes_true([&] { return retrying(bed) == 1 && offset(bed) >= 3; })) << offset(bed);
  produce_rounds(bed, kRounds, kAccounts, 100);
  // The run goes on to handle and to commit what is in the other partition.
  for (int mark = 0; mark < kMarks; ++mark) {
    bed.server().produce(bed.topic(),
                         {{.value = payment(fmt::format("mark-{}", mark), 1, 0), .partition = 1}});
    ASSERT_TRUE(
        comes_true([&] { return bed.server().committed(bed.group(), bed.topic(), 1) > mark; }));
  }
  EXPECT_LE(offset(bed), (kAccounts + 1) * kRounds) << "the partition waits at the broker";
  EXPECT_EQ(bed.number("SELECT count(*) FROM effect WHERE id LIKE 'r1%'"), 0);
  EXPECT_EQ(retrying(bed), 1) << "nothing but the failed one is in the store";
  mend(bed);
  EXPECT_TRUE(comes_true([&] { return bed.sum() == 2 * kRounds * (kAccounts + 1); }));
  EXPECT_TRUE(comes_true([&] { return bed.all_committed(); }));
  stop(runner);
  expect_in_order(bed, 2 * kRounds, kAccounts);
}

TEST_P(KafkaOrder, SkipPassesByWhatFails) {
  constexpr int kRounds = 5;
  constexpr int kAccounts = 4;
  KafkaTestBed bed(GetParam(), KafkaServer::shared(), ordered("skip"));
  produce_rounds(bed, kRounds, kAccounts);
  Program runner({"run", bed.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed.sum() == kRounds * kAccounts; }));
  EXPECT_TRUE(comes_true([&] { return bed.all_committed(); }));
  // Each of the failing ones was tried: none waits behind another.
  EXPECT_TRUE(comes_true([&] { return retrying(bed) == kRounds; }));
  mend(bed);
  EXPECT_TRUE(comes_true([&] { return bed.sum() == kRounds * (kAccounts + 1); }));
  stop(runner);
  EXPECT_EQ(bed.number("SELECT count(DISTINCT id) FROM effect"), kRounds * (kAccounts + 1));
}

// One of two members has the partition. The other began when nothing waited in the store.
TEST_P(KafkaOrder, AMemberThatIsGivenThePartitionInMidRunKnowsWhatWaits) {
  constexpr int kAccounts = 2;
  constexpr int kOfARound = kAccounts + 1;
  for (const int end : {SIGKILL, SIGTERM}) {
    SCOPED_TRACE(end);
    KafkaTestBed::Options options = ordered("hold_key");
    options.properties =
        "session.timeout.ms: 1500, heartbeat.interval.ms: 300, "
        "partition.assignment.strategy: cooperative-sticky";
    KafkaTestBed bed(GetParam(), KafkaServer::shared(), options);
    Program owner({"run", bed.config(), "-q"});
    ASSERT_TRUE(comes_true([&] { return bed.figure("partitions", owner.pid()) == 1; }));
    Program standby({"run", bed.config(), "-q"});
    ASSERT_TRUE(comes_true([&] { return bed.server().members(bed.group()) == 2; }));
    produce_rounds(bed, 1, kAccounts);
    ASSERT_TRUE(comes_true([&] { return offset(bed) == kOfARound && retrying(bed) == 1; }));
    ASSERT_EQ(bed.figure("partitions", owner.pid()), 1) << "the one that joined has it";
    owner.signal(end);
    const Ran ended = owner.wait();
    EXPECT_EQ(end == SIGKILL ? ended.signal : ended.code, end == SIGKILL ? SIGKILL : 0);
    produce_rounds(bed, 1, kAccounts, 1);
    EXPECT_TRUE(comes_true([&] { return offset(bed) == 2 * kOfARound; })) << offset(bed);
    EXPECT_EQ(retrying(bed), 1) << "what follows was not tried";
    mend(bed);
    EXPECT_TRUE(comes_true([&] { return bed.sum() == 2 * kOfARound; }));
    stop(standby);
    expect_in_order(bed, 2, kAccounts);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, KafkaOrder,
                         ::testing::Values(DatabaseKind::kSqlite, DatabaseKind::kPostgres),
                         [](const auto& info) { return name_of_ground(info.param); });

}  // namespace
}  // namespace semel::test
