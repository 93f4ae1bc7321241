// Replays that do not have their faults, and how reports are printed.
#include <semel/testing/deliver.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "testing/test_deliver.h"

namespace semel::testkit {
namespace {

using Kind = Finding::Kind;

constexpr const char* kAdasAccount =
    "CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER NOT NULL);"
    "INSERT INTO account VALUES ('ada', 100);";

std::vector<TestMessage> two_payments() {
  return {{.key = "p-1", .payload = R"({"amount": 5})"},
          {.key = "p-2", .payload = R"({"amount": 20})"}};
}

Verdict pay_ada(const Message& message, Transaction& tx) {
  tx.exec("UPDATE account SET balance = balance + ? WHERE id = 'ada'",
          message.json<int>("/amount"));
  return done();
}

// A test that keeps a replay must not pass without the faults of it.
TEST(DeliverReplay, AReplayWhoseFaultDoesNotHappenFindsThat) {
  TestStore bank(kAdasAccount);
  const auto run = [&](std::string replay) {
    return delivered(pay_ada, two_payments(), {.store = &bank, .replay = std::move(replay)});
  };
  const Report reached = run("1 2 crash@1");
  EXPECT_TRUE(reached) << reached;
  EXPECT_EQ(reached.crashes, 1U);
  for (const std::string fault : {"crash@999", "pause@999"}) {
    const Report report = run("1 2 crash@1 " + fault);
    ASSERT_EQ(report.findings.size(), 1U) << report;
    EXPECT_EQ(report.findings.front().kind, Kind::kNoFault) << report;
    EXPECT_EQ(report.findings.front().what.find(fault), 0U) << report;
    EXPECT_NE(report.text().find("no fault: " + fault), std::string::npos) << report;
    EXPECT_EQ(report.replay, "1 2 crash@1 " + fault);
    EXPECT_FALSE(report.steps.empty());
  }
}

TEST(DeliverReplay, AReplayWhosePauseIsWithinATransactionFindsThat) {
  TestStore bank(kAdasAccount);
  std::size_t paused = 0;
  std::size_t refused = 0;
  for (std::size_t at = 1; refused == 0; ++at) {
    const Report report = delivered(pay_ada, two_payments(),
                                    {.store = &bank, .replay = "1 2 pause@" + std::to_string(at)});
    ASSERT_EQ(report.pauses == 0, report.has(Kind::kNoFault)) << report;
    paused += report.pauses;
    if (!report) {
      ++refused;
      EXPECT_NE(report.text().find("a transaction is open there"), std::string::npos) << report;
    }
  }
  EXPECT_GT(paused, 0U);
}

TEST(DeliverReport, AReportEndsWithoutALineEnd) {
  TestStore bank(kAdasAccount);
  Outside mails("mails");
  for (const bool doubles : {false, true}) {
    const Report report = delivered(
        [&](const Message& message, Transaction& tx) {
          if (doubles) mails.add(message.key().text);
          return pay_ada(message, tx);
        },
        two_payments(), {.store = &bank, .outside = {&mails}, .random_runs = 0});
    ASSERT_EQ(static_cast<bool>(report), !doubles) << report;
    EXPECT_NE(report.text().back(), '\n') << report;
  }
}

}  // namespace
}  // namespace semel::testkit
