// deliver by way of a Guard: the loop that a user would write around it.
#include <gtest/gtest.h>

#include <semel/environment.h>
#include <semel/testing/deliver.h>

#include "testing/test_deliver.h"

namespace semel::testkit {
namespace {

constexpr const char* kTable = "CREATE TABLE payment(id TEXT NOT NULL)";

std::vector<TestMessage> three() { return {{.key = "a"}, {.key = "b"}, {.key = "c"}}; }

Verdict insert(const Message& message, Transaction& tx) {
  tx.exec("INSERT INTO payment VALUES (?)", message.key().text);
  return done();
}

TEST(GuardDelivery, WorkInTheTransactionHappensOnce) {
  TestStore bank(kTable);
  const Report report = delivered(insert, three(), {.store = &bank, .guard = GuardOptions{}});
  EXPECT_TRUE(report) << report;
  EXPECT_GT(report.crashes, 50U);
  EXPECT_EQ(bank.number("SELECT count(*) FROM payment"), 3);
}

TEST(GuardDelivery, AnEffectBesideTheTransactionIsFound) {
  TestStore bank(kTable);
  Outside mails("mails");
  const auto work = [&mails](const Message& message, Transaction& tx) {
    mails.add(message.key().text);
    return insert(message, tx);
  };
  DeliverOptions options{.store = &bank, .guard = GuardOptions{}, .outside = {&mails}};
  const Report report = delivered(work, three(), options);
  ASSERT_TRUE(report.has(Finding::Kind::kDoubled)) << report;
  options.replay = report.replay;
  const Report again = delivered(work, three(), options);
  EXPECT_EQ(again.steps, report.steps);
  EXPECT_EQ(again.findings.size(), report.findings.size());
}

TEST(GuardDelivery, WorkUnderALeaseHappensAtLeastOnce) {
  Outside calls("calls");
  const auto work = [&calls](const Message& message) {
    calls.add(message.key().text);
    return done();
  };
  DeliverOptions options{.guard = GuardOptions{}, .outside = {&calls}};
  EXPECT_TRUE(delivered(work, three(), options).has(Finding::Kind::kDoubled));
  options.may_double = true;
  const Report allowed = delivered(work, three(), options);
  EXPECT_TRUE(allowed) << allowed;
}

TEST(GuardDelivery, AtMostOnceNeverDoubles) {
  TestStore store;
  Outside calls("calls");
  GuardOptions guard;
  guard.at_most_once = true;
  const Report report = delivered(
      [&calls](const Message& message) {
        calls.add(message.key().text);
        return done();
      },
      three(), {.store = &store, .guard = guard, .outside = {&calls}, .may_lose = true});
  EXPECT_TRUE(report) << report;
}

TEST(GuardDelivery, AMessageGivenUpIsKeptByTheLoop) {
  TestStore bank(kTable);
  const Report report = delivered(
      [](const Message& message, Transaction& tx) {
        return message.key().text == "b" ? dead("never") : insert(message, tx);
      },
      three(), {.store = &bank, .guard = GuardOptions{}, .may_give_up = true});
  EXPECT_TRUE(report) << report;
}

}  // namespace
}  // namespace semel::testkit
