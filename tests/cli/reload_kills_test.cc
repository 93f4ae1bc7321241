// A run that is killed while it takes up another config, and the order of messages through reloads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <string_view>

#include "tests/cli/reload_test_bed.h"
#include "tests/support/rounds.h"

namespace semel::test {
namespace {

// Killed where the first of two consumers is drained, and where the second is and the first begins.
class ReloadKill : public ReloadTestBed, public ::testing::WithParamInterface<const char*> {};

TEST_P(ReloadKill, LosesAndDoublesNothing) {
  constexpr int kMessages = 400;
  make_effects_slow(bed_, "UPDATE ON account");
  send("payments", payments_of(0, kMessages) + payments_of(0, kMessages / 2));
  StartOptions options;
  options.failpoint = GetParam();
  {
    AdminRun run(bed_, kReloadable, options);
    ASSERT_TRUE(comes_true([&] { return balance() > 0; }));
    rewrite("timeout: 20s", "timeout: 30s");
    rewrite("timeout: 50s", "timeout: 55s");
    run.program().signal(SIGHUP);
    EXPECT_EQ(run.program().wait().signal, SIGKILL) << run.program().err();
  }
  EXPECT_LT(balance(), kMessages) << "nothing was left to lose";
  write_file(bed_.file("go"), "");
  EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(balance(), kMessages);
}

INSTANTIATE_TEST_SUITE_P(Points, ReloadKill, ::testing::Values("drained:kill:1", "drained:kill:2"));

class ReloadKilledByChance : public ReloadTestBed {};

TEST_F(ReloadKilledByChance, AtAnyTimeNothingIsLostOrDoubled) {
  const int count = static_cast<int>(rounds(5));
  constexpr int kEach = 200;
  make_effects_slow(bed_, "UPDATE ON account");
  for (int round = 0; round < count; ++round) {
    send("payments", payments_of(round * kEach, (round + 1) * kEach));
    AdminRun run(bed_, round == 0 ? kReloadable : std::string_view());
    const auto timeout = [](int n) { return fmt::format("timeout: {}s", 20 + n); };
    rewrite(timeout(round), timeout(round + 1));
    run.program().signal(SIGHUP);
    ASSERT_TRUE(tells(run.program(), "the config is taken up"));
    run.program().signal(SIGKILL);
    EXPECT_EQ(run.program().wait().signal, SIGKILL);
    EXPECT_LT(balance(), (round + 1) * kEach) << "nothing was left to lose";
  }
  write_file(bed_.file("go"), "");
  EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(balance(), count * kEach);
}

// Messages of a queue, in the order of their accounts, through many reloads: each finds rows in
// hand that have not begun.
TEST(ReloadOrder, IsKeptAndNothingIsLostOrDoubled) {
  const int reloads = is_night() ? 8 : 3;
  const int count = reloads * 375;
  const TestBed bed(
      "    source: { queue: {} }\n"
      "    key: json:/n\n"
      "    order: { key: json:/account }\n"
      "    timeout: 20s\n"
      "    batch: { max: 20 }\n"
      "    handler:\n"
      "      sql:\n"
      "        params: { account: json:/account, n: json:/n }\n"
      "        statements:\n"
      "          - INSERT INTO log(account, n) VALUES (:account, :n)\n");
  bed.sql("CREATE TABLE log(seq INTEGER PRIMARY KEY AUTOINCREMENT, account INTEGER, n INTEGER)");
  std::string lines;
  for (int i = 0; i < count; ++i) lines += fmt::format("{{\"account\":{},\"n\":{}}}\n", i % 7, i);
  make_effects_slow(bed, "INSERT ON log");
  ASSERT_EQ(bed.semel({"send", "payments", "-"}, {.input = lines}).code, 0);
  Program run({"run", bed.config()});
  const auto rows = [&] { return bed.number("SELECT count(*) FROM log"); };
  for (int i = 0; i < reloads; ++i) {
    ASSERT_TRUE(comes_true([&] { return rows() >= count / reloads / 2 * (i + 1); })) << run.err();
    std::string text = contents_of(bed.config());
    const std::string before = fmt::format("timeout: {}s", 20 + i);
    text.replace(text.find(before), before.size(), fmt::format("timeout: {}s", 21 + i));
    write_file(bed.config(), text);
    run.signal(SIGHUP);
    ASSERT_TRUE(comes_true([&] {
      return count_of(run.err(), "the config is in effect") == static_cast<std::size_t>(i + 1);
    })) << run.err();
    ASSERT_LT(rows(), count) << "nothing was left when reload " << i << " took effect";
  }
  ASSERT_TRUE(comes_true([&] { return rows() >= count; })) << run.err();
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait().code, 0);
  EXPECT_EQ(rows(), count);
  EXPECT_EQ(bed.number("SELECT count(DISTINCT n) FROM log"), count);
  EXPECT_EQ(bed.number("SELECT count(*) FROM (SELECT n, lag(n) OVER (PARTITION BY account ORDER "
                       "BY seq) AS before FROM log) WHERE before > n"),
            0);
}

}  // namespace
}  // namespace semel::test
