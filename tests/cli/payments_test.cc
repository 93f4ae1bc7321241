// The scenario a user brings: a file or a queue of payments, some twice, some keys used again for
// another payment; tables made by the sqlite3 shell; runs that are killed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/cli/payments.h"
#include "tests/cli/program.h"

namespace semel::test {
namespace {

struct PaymentsSize {
  const char* name;
  std::size_t payments;
  std::size_t queued;
  std::size_t reused;
  int kills;
};
constexpr PaymentsSize kSmallPayments = {"small", 12'000, 3'000, 10, 5};
constexpr PaymentsSize kFullPayments = {"full", 60'000, 30'000, 50, 25};

// The full size is for the slow round: SEMEL_SLOW=1.
const PaymentsSize& payments_size() {
  return std::getenv("SEMEL_SLOW") != nullptr ? kFullPayments : kSmallPayments;
}

class PaymentsTest : public ::testing::TestWithParam<const char*> {
 protected:
  static std::int64_t sum(const TestBed& bed) {
    return bed.number("SELECT sum(balance) FROM account");
  }
  static std::string conflicts(const TestBed& bed) {
    return json_at(bed.semel({"dlq", "list", "--reason", "key.conflict", "-o", "json"}).out,
                   "/count");
  }
  static std::uint64_t seed() {
    const std::uint64_t seed = std::random_device{}();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    return seed;
  }
};

TEST_P(PaymentsTest, AFileIsAppliedOnceAndACopyOfItChangesNothing) {
  const TestBed bed(payments("{ file: { path: in.jsonl } }", GetParam()));
  const Payments made = make_payments(payments_size().payments, payments_size().reused, seed());
  write_file(bed.file("in.jsonl"), made.lines);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(sum(bed), made.sum);
  EXPECT_EQ(conflicts(bed), std::to_string(payments_size().reused));

  std::filesystem::copy_file(bed.file("in.jsonl"), bed.file("copy.jsonl"));
  const Ran again = bed.semel({"run", "--once", "-o", "json", "--set",
                               "consumers[0].source.file.path=" + bed.file("copy.jsonl")});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), std::to_string(made.deliveries));
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  EXPECT_EQ(sum(bed), made.sum);
  EXPECT_EQ(conflicts(bed), std::to_string(payments_size().reused));
}

TEST_P(PaymentsTest, AFileIsAppliedOnceHoweverOftenTheRunIsKilled) {
  const TestBed bed(payments("{ file: { path: in.jsonl } }", GetParam()));
  const std::uint64_t seed = PaymentsTest::seed();
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const auto parts = static_cast<std::size_t>(payments_size().kills);
  const KilledRuns made = kill_runs(
      bed.config(), bed.file("in.jsonl"), payments_size().payments / parts,
      payments_size().reused / parts, payments_size().kills, seed, [&] { return sum(bed); });
  const Ran last = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(sum(bed), made.sum);
  EXPECT_EQ(conflicts(bed), std::to_string(made.reused));
}

TEST_P(PaymentsTest, TwoRunnersOnOneQueueOneOfThemKilledAgainAndAgain) {
  const TestBed bed(payments(kQueue, GetParam()));
  const Payments made = make_payments(payments_size().queued, 0, seed());
  const Ran sent = bed.semel({"send", "payments", "-", "-o", "json"}, {.input = made.lines});
  ASSERT_EQ(sent.code, 0) << sent.err;
  ASSERT_EQ(json_at(sent.out, "/sent"), std::to_string(made.deliveries));
  Program steady({"run", bed.config(), "-q"});
  EXPECT_EQ(kill_runners(bed.config(), made.sum, payments_size().kills, [&] { return sum(bed); }),
            payments_size().kills);
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  steady.signal(SIGTERM);
  EXPECT_EQ(steady.wait().code, 0) << steady.err();
  EXPECT_EQ(sum(bed), made.sum);
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
}

INSTANTIATE_TEST_SUITE_P(Strategies, PaymentsTest,
                         ::testing::Values("inbox", "dedup_table", "state_machine"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace semel::test
