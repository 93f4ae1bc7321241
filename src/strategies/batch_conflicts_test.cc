// Rows that another program has locked.
#include <gtest/gtest.h>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using semel::test::When;
using std::chrono::milliseconds;
using Kind = Outcome::Kind;

// A message's key is the row that it changes, followed by a digit.
class LockedRow : public StrategyFixture {
 protected:
  LockedRow() {
    context_.handler = TransactionalHandler([this](const Message& message, Transaction& tx) {
      make_effect(message, tx);
      const std::string row = message.key().text.substr(0, 1);
      if (asks_first_) tx.query("SELECT effects FROM account");
      if (asks_) {
        tx.query("SELECT locked FROM account WHERE id = ?", row);
      } else {
        tx.exec("UPDATE locked SET balance = 1 WHERE id = ?", row);
      }
      for (int i = 0; i < asks_besides_; ++i) tx.query("SELECT effects FROM account");
      return done();
    });
    strategy_ = make_strategy(StrategyKind::kDedupTable, context_);
    store_.locked = {"a"};
  }
  RememberingSink next(const std::vector<std::string>& keys) {
    auto deliveries = batch(keys);
    RememberingSink sink;
    strategy_->process(deliveries, sink);
    return sink;
  }
  void expect_held_back(const RememberingSink& sink, const std::string& key) {
    EXPECT_EQ(sink.of(key).kind, Kind::kBusy) << key;
    EXPECT_EQ(sink.of(key).settle, Outcome::Settle::kLater);
    EXPECT_GT(sink.of(key).delay, milliseconds(0));
    EXPECT_EQ(effects(key), 0);
  }

  bool asks_ = false;
  bool asks_first_ = false;
  int asks_besides_ = 0;
  std::unique_ptr<Strategy> strategy_;
};

TEST_F(LockedRow, ItsMessagesWaitAndTheOthersGoOn) {
  const auto first = next({"b1", "a1", "c1", "a2"});
  expect_held_back(first, "a1");
  expect_held_back(first, "a2");
  EXPECT_EQ(first.count(Kind::kDone), 2U);
  EXPECT_EQ(effects("b1") + effects("c1"), 2);
  const int waits = store_.waits;
  const auto second = next({"a3", "b2"});
  expect_held_back(second, "a3");
  EXPECT_EQ(second.of("b2").kind, Kind::kDone);
  EXPECT_EQ(store_.waits, waits) << "it is known by now";
}

TEST_F(LockedRow, FromTimeToTimeOneMessageLooks) {
  next({"a1", "b1"});
  environment_.clock.advance(std::chrono::seconds(1));
  const int waits = store_.waits;
  expect_held_back(next({"a1", "a2", "b2"}), "a2");
  EXPECT_EQ(store_.waits, waits + 1);
  environment_.clock.advance(std::chrono::seconds(5));
  store_.locked.clear();
  EXPECT_EQ(next({"a1", "b3"}).of("a1").kind, Kind::kDone);
  EXPECT_EQ(next({"a2"}).of("a2").kind, Kind::kDone);
}

TEST_F(LockedRow, ManyMessagesOfItWaitOnce) {
  const auto sink = next({"a1", "a2", "a3", "b1", "a4", "a5", "c1", "a6"});
  EXPECT_EQ(sink.count(Kind::kBusy), 6U);
  EXPECT_EQ(sink.count(Kind::kDone), 2U);
  EXPECT_LE(store_.waits, 2) << "as one batch, and alone";
}

TEST_F(LockedRow, WhoLooksMayAskForMoreThanTheRow) {
  asks_besides_ = 3;
  expect_held_back(next({"a1", "b1"}), "a1");
  store_.locked.clear();
  environment_.clock.advance(std::chrono::seconds(6));
  EXPECT_EQ(next({"a1"}).of("a1").kind, Kind::kDone);
  EXPECT_EQ(next({"a2"}).of("a2").kind, Kind::kDone);
}

TEST_F(LockedRow, WhoWritesItBehindAQuestionWaitsToo) {
  asks_first_ = true;
  const auto first = next({"b1", "a1", "a2", "c1"});
  EXPECT_EQ(first.count(Kind::kBusy), 2U);
  EXPECT_EQ(first.count(Kind::kDone), 2U);
  const int waits = store_.waits;
  expect_held_back(next({"a3", "b2"}), "a3");
  EXPECT_EQ(store_.waits, waits);
  store_.locked.clear();
  environment_.clock.advance(std::chrono::seconds(6));
  EXPECT_EQ(next({"a1", "b3"}).of("a1").kind, Kind::kDone);
}

TEST_F(LockedRow, WhoLooksLooksOnWhereItsTransactionIsUndone) {
  next({"a1", "b1"});
  store_.locked.clear();
  environment_.clock.advance(std::chrono::seconds(6));
  faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kRetryTransaction, When::kBefore);
  faults_.fail(StoreCall::kUnitFlush, 1, ErrorKind::kRetryTransaction, When::kBefore);
  EXPECT_EQ(next({"a1", "b2"}).of("a1").kind, Kind::kDone);
}

TEST_F(LockedRow, ANewRowIsFoundWhileAnotherOneIsBlocked) {
  next({"a1", "b1"});
  store_.locked = {"a", "s"};
  expect_held_back(next({"s1"}), "s1");
  const int waits = store_.waits;
  expect_held_back(next({"s2"}), "s2");
  EXPECT_EQ(store_.waits, waits) << "it is known by now";
}

TEST_F(LockedRow, WhoAsksForItWaitsToo) {
  asks_ = true;
  const auto first = next({"b1", "a1", "c1"});
  expect_held_back(first, "a1");
  EXPECT_EQ(first.count(Kind::kDone), 2U);
  const int waits = store_.waits;
  expect_held_back(next({"a2", "b2"}), "a2");
  EXPECT_EQ(store_.waits, waits);
}

TEST_F(LockedRow, NoTryIsCountedForIt) {
  for (int i = 0; i < 5; ++i) {
    environment_.clock.advance(std::chrono::seconds(10));
    expect_held_back(next({"a1"}), "a1");
  }
  store_.locked.clear();
  environment_.clock.advance(std::chrono::seconds(10));
  const auto last = next({"a1"});
  EXPECT_EQ(last.of("a1").kind, Kind::kDone);
  EXPECT_EQ(last.of("a1").attempt, 1);
}

}  // namespace
}  // namespace semel::strategies
