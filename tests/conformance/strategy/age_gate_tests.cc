// A message that is older than records are kept, and has none, is not taken for new.
#include "tests/conformance/strategy/age_gate_suite.h"

#include <semel/reason.h>

namespace semel::conformance {
namespace {

using core::TooOld;
using std::chrono::hours;
using std::chrono::milliseconds;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;
using test::StoreCall;
using test::When;

TEST_P(AgeGateSuite, WhatIsTooOldWaitsForAPersonAndNobodyElseIsDelayed) {
  const auto one = strategy();
  auto all = aged(keys(3, "old"), kTooOld);
  for (auto& delivery : aged(keys(3, "young"), kYoung)) all.push_back(std::move(delivery));
  for (auto& delivery : batch(keys(3, "timeless"))) all.push_back(std::move(delivery));
  const auto outcomes = process(*one, std::move(all));
  for (const auto& key : keys(3, "old")) expect_parked(outcomes, key);
  for (const auto& key : keys(3, "young")) EXPECT_EQ(last(outcomes, key).kind, Kind::kDone);
  for (const auto& key : keys(3, "timeless")) EXPECT_EQ(last(outcomes, key).kind, Kind::kDone);
  EXPECT_EQ(effects(), 6);
  EXPECT_TRUE(dead_letters().empty()) << "it is not given up";
}

TEST_P(AgeGateSuite, ACopyOfWhatIsParkedMeetsItsRecord) {
  const auto one = strategy();
  expect_parked(process(*one, aged({"a"}, kTooOld)), "a");
  const auto again = process(*one, aged({"a"}, kTooOld));
  expect_parked(again, "a");
  EXPECT_TRUE(last(again, "a").closed_before);
  ASSERT_TRUE(inner_->facets().records->unlock(id_of("a")).value());
  EXPECT_EQ(deliver_held(*one).size(), 1U) << "one payload is kept";
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(AgeGateSuite, WhatAPersonLetsRunIsHandledOnce) {
  const auto one = strategy();
  expect_parked(process(*one, aged({"a"}, kTooOld)), "a");
  ASSERT_TRUE(inner_->facets().records->unlock(id_of("a")).value());
  EXPECT_EQ(last(deliver_held(*one), "a").kind, Kind::kDone);
  EXPECT_EQ(last(process(*one, aged({"a"}, kTooOld)), "a").kind, Kind::kDuplicate);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(AgeGateSuite, WhatHasARecordIsNotTooOld) {
  const auto one = strategy();
  EXPECT_EQ(last(process(*one, aged({"a"}, kYoung)), "a").kind, Kind::kDone);
  EXPECT_EQ(last(process(*one, aged({"a"}, kTooOld)), "a").kind, Kind::kDuplicate);
  EXPECT_EQ(last(process(*one, aged({"a"}, kTooOld, "other")), "a").kind, Kind::kConflict);
  const auto tried = batch({"b"});
  const Message* const message = &tried.front().message;
  const auto claims = inner_->claim({&message, 1}, ClaimOptions{}).value();
  const Finish retry =
      test::retrying(std::get<Acquired>(claims.at(0)).lease, milliseconds(0), nullptr);
  ASSERT_EQ(inner_->finish({&retry, 1}).value().at(0), Applied::kYes);
  EXPECT_EQ(last(process(*one, aged({"b"}, kTooOld)), "b").kind, Kind::kDone) << "its retry is due";
  EXPECT_EQ(effects("a"), 1);
  EXPECT_EQ(effects("b"), 1);
}

TEST_P(AgeGateSuite, DiscardSettlesItAndItsCopiesAreDuplicates) {
  gate(TooOld::kDiscard);
  const auto one = strategy();
  auto all = aged({"old"}, kTooOld);
  for (auto& delivery : aged({"young"}, kYoung)) all.push_back(std::move(delivery));
  const auto outcomes = process(*one, std::move(all));
  EXPECT_EQ(last(outcomes, "old").kind, Kind::kDiscarded);
  EXPECT_EQ(last(outcomes, "old").reason, reason::kTooOld);
  EXPECT_EQ(last(outcomes, "old").settle, Settle::kAck);
  EXPECT_EQ(last(outcomes, "young").kind, Kind::kDone);
  EXPECT_EQ(record_of("old").state, RecordState::kCompleted);
  EXPECT_EQ(last(process(*one, aged({"old"}, kTooOld)), "old").kind, Kind::kDuplicate);
  EXPECT_EQ(runs("old"), 0);
  EXPECT_TRUE(dead_letters().empty());
}

TEST_P(AgeGateSuite, HandleTakesItForNew) {
  gate(TooOld::kHandle);
  const auto one = strategy();
  EXPECT_EQ(last(process(*one, aged({"a"}, kTooOld)), "a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 1);
}

// A deferred consumer stores each message before it is claimed.
TEST_P(AgeGateSuite, WhatTheStoreKeptUnclaimedIsParkedToo) {
  const auto one = strategy();
  auto deliveries = aged({"old"}, kTooOld);
  for (auto& delivery : aged({"young"}, kYoung)) deliveries.push_back(std::move(delivery));
  std::vector<Finish> kept;
  for (const core::TrackedDelivery& delivery : deliveries) {
    Finish& finish = kept.emplace_back();
    finish.to = Finish::To::kRetrying;
    finish.keep = &delivery.message;
    finish.arrival = &delivery.arrival;
  }
  ASSERT_TRUE(inner_->finish(kept));
  auto arrivals = inner_->facets().held->take(consumer_, 10, 1 << 20, hours(1)).value();
  ASSERT_EQ(arrivals.size(), 2U);
  std::vector<core::TrackedDelivery> taken;
  for (Arrival& arrival : arrivals) {
    auto parts = test::make_parts(consumer_, arrival.key.value_or(""), arrival.payload);
    taken.emplace_back(Message(std::move(parts)), std::move(arrival));
  }
  const auto outcomes = process(*one, std::move(taken));
  EXPECT_EQ(last(outcomes, "old").kind, Kind::kParked);
  EXPECT_EQ(last(outcomes, "old").reason, reason::kTooOld);
  EXPECT_EQ(last(outcomes, "young").kind, Kind::kDone);
  EXPECT_EQ(runs("old"), 0);
  ASSERT_TRUE(inner_->facets().records->unlock(id_of("old")).value());
  EXPECT_EQ(last(deliver_held(*one), "old").kind, Kind::kDone);
  EXPECT_EQ(effects("old"), 1);
}

TEST_P(AgeGateSuite, AParkWhoseAnswerIsLostIsNotRepeated) {
  const StoreCall commit = parks_in_unit() ? StoreCall::kUnitCommit : StoreCall::kFinish;
  for (const When when : {When::kBefore, When::kAfter}) {
    const std::string key = when == When::kBefore ? "before" : "after";
    const auto one = strategy();
    faults_.fail(commit, 1, ErrorKind::kInDoubt, when);
    expect_parked(deliver(*one, aged({key}, kTooOld)), key);
    ASSERT_TRUE(inner_->facets().records->unlock(id_of(key)).value());
    EXPECT_EQ(deliver_held(*one).size(), 1U) << "one payload is kept";
    EXPECT_EQ(effects(key), 1);
  }
  EXPECT_EQ(faults_.fired(commit), 2U);
}

// A process that is killed at the gate leaves no claim that the next one would take over and run.
TEST_P(AgeGateSuite, WhereAStoreHasTransactionsNoClaimIsCommittedBeforeItsPark) {
  if (!parks_in_unit()) return;
  const auto one = strategy();
  expect_parked(process(*one, aged({"a"}, kTooOld)), "a");
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), 0U);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitCommit), 1U);
}

TEST_P(AgeGateSuite, AStoreThatCannotParkAtOnceParksAfterTheClaim) {
  if (!parks_in_unit() || !claims_first()) return;
  const auto one = strategy();
  for (const StoreCall call :
       {StoreCall::kBegin, StoreCall::kUnitClaim, StoreCall::kUnitFinish, StoreCall::kUnitCommit}) {
    const std::string key = "k" + std::to_string(static_cast<int>(call));
    faults_.fail(call, 1, ErrorKind::kRejected, When::kBefore);
    expect_parked(process(*one, aged({key}, kTooOld)), key);
    EXPECT_EQ(faults_.fired(call), 1U);
  }
}

// A claim that was left behind is a record: whoever made it, it was not forgotten.
TEST_P(AgeGateSuite, WhatIsTakenOverIsNotTooOld) {
  const auto one = strategy();
  leave_claim(test::make_message(consumer_, "a"));
  const auto outcomes = deliver(*one, aged({"a"}, kTooOld));
  if (GetParam().kind == StrategyKind::kAtMostOnce) {
    EXPECT_EQ(last(outcomes, "a").reason, reason::kLeaseParked);
    return;
  }
  EXPECT_EQ(last(outcomes, "a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(AgeGateSuite, AnAttemptThatDidNotCountIsARecordToo) {
  const auto one = strategy();
  const auto tried = batch({"a"});
  const Message* const message = &tried.front().message;
  const auto claims = inner_->claim({&message, 1}, ClaimOptions{}).value();
  Finish retry = test::retrying(std::get<Acquired>(claims.at(0)).lease, milliseconds(0), nullptr);
  retry.counted = false;
  retry.reason.clear();
  retry.error.clear();
  ASSERT_EQ(inner_->finish({&retry, 1}).value().at(0), Applied::kYes);
  EXPECT_EQ(last(process(*one, aged({"a"}, kTooOld)), "a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 1);
}

// This machine's clock is behind the store's, or ahead of it.
TEST_P(AgeGateSuite, TheStoresClockDecidesHowOldAMessageIs) {
  const auto one = strategy();
  store_ahead_ = std::chrono::days(2);
  expect_parked(process(*one, aged({"old"}, kYoung)), "old");
  store_ahead_ = std::chrono::days(-2);
  EXPECT_EQ(last(process(*one, aged({"young"}, kTooOld)), "young").kind, Kind::kDone);
  EXPECT_EQ(effects("young"), 1);
}

TEST_P(AgeGateSuite, MessagesThatAreYoungDoNotAskTheStore) {
  const auto one = strategy();
  for (const auto& key : keys(5, "new")) {
    EXPECT_EQ(last(process(*one, aged({key}, hours(1))), key).kind, Kind::kDone);
  }
  EXPECT_EQ(clock_reads_, 1) << "once in a long time";
  EXPECT_EQ(last(process(*one, batch({"timeless"})), "timeless").kind, Kind::kDone);
  EXPECT_EQ(clock_reads_, 1);
}

TEST_P(AgeGateSuite, WithoutAKnownHorizonNothingIsTooOld) {
  age_gate_->note(Horizon{std::nullopt, "the test's source keeps all", true});
  const auto one = strategy();
  EXPECT_EQ(last(process(*one, aged({"a"}, kTooOld)), "a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 1);
  EXPECT_EQ(clock_reads_, 0);
}

// Failure of the store is never "no record", and never "young".
TEST_P(AgeGateSuite, AClockThatCannotBeReadLetsNothingRun) {
  const auto one = strategy();
  clock_fails_ = 100;
  const auto away = process(*one, aged({"a"}, kTooOld));
  EXPECT_EQ(last(away, "a").kind, Kind::kRetry);
  EXPECT_EQ(last(away, "a").settle, Settle::kLater);
  EXPECT_EQ(last(away, "a").reason, reason::kStoreUnavailable);
  EXPECT_LT(clock_fails_, 100) << "it was asked";
  EXPECT_EQ(runs("a"), 0);
  clock_fails_ = 0;
  expect_parked(process(*one, aged({"a"}, kTooOld)), "a");
}

// A dead letter that a person replays: it keeps no time of its broker.
// Its record may have been forgotten meanwhile.
TEST_P(AgeGateSuite, WhatAPersonReplaysIsHandled) {
  const auto one = strategy();
  core::TrackedDelivery delivery = std::move(aged({"a"}, kYoung).front());
  const Message* const message = &delivery.message;
  const auto claims = inner_->claim({&message, 1}, ClaimOptions{}).value();
  Finish dead;
  dead.to = Finish::To::kDead;
  dead.lease = std::get<Acquired>(claims.at(0)).lease;
  dead.reason = "handler.native";
  dead.keep = message;
  dead.arrival = &delivery.arrival;
  ASSERT_EQ(inner_->finish({&dead, 1}).value().at(0), Applied::kYes);
  store_ahead_ = std::chrono::days(30);
  const auto letters = dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  ASSERT_TRUE(inner_->facets().records->forget(message->key().id).value());
  const std::int64_t id = letters.front().id;
  ASSERT_EQ(inner_->facets().dead_letters->replay({&id, 1})->replayed, 1U);
  EXPECT_EQ(last(deliver_held(*one), "a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 1);
}

}  // namespace
}  // namespace semel::conformance
