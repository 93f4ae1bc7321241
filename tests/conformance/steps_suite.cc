// StepStore: the journal of a message's steps, stored with its record.
#include <algorithm>

#include <semel/spi/step_store.h>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

StepEntry entry_of(std::string name, Bytes id = {}, Bytes result = {}) {
  StepEntry entry;
  entry.name = std::move(name);
  entry.id = std::move(id);
  entry.result = std::move(result);
  entry.input = test::fingerprint_for("input");
  return entry;
}

Finish giving_up(Finish finish, int undo_tries = 0, int uncounted = 0) {
  finish.giving_up = GivingUp{"attempts.exhausted", "503 from the bank", 8, undo_tries, uncounted};
  return finish;
}

std::vector<std::string> journal_names(const StepJournal& journal) {
  std::vector<std::string> names;
  for (const StepEntry& entry : journal.entries) names.push_back(entry.name + "=" + entry.id);
  return names;
}

constexpr milliseconds kTtl = 1h;

TEST_P(StepsSuite, ARecordWithoutStepsHasAnEmptyJournal) {
  const Message m = message("k");
  EXPECT_TRUE(steps().read(m.key().id).value().entries.empty());
  acquire(m);
  const StepJournal journal = steps().read(m.key().id).value();
  EXPECT_TRUE(journal.entries.empty());
  EXPECT_FALSE(journal.giving_up);
}

TEST_P(StepsSuite, WhatIsKeptIsReadInTheOrderItWasKept) {
  const Message m = message("k");
  const Lease lease = acquire(m).lease;
  const Bytes id("A\0\xff'7", 5);
  const Bytes result("\0held\xfe", 6);
  StepEntry first = entry_of("lock_stock", id, result);
  first.round = 3;
  ASSERT_EQ(steps().keep(lease, first).value(), Applied::kYes);
  ASSERT_EQ(steps().keep(lease, entry_of("charge")).value(), Applied::kYes);
  ASSERT_EQ(steps().keep(lease, entry_of("lock_stock", "B")).value(), Applied::kYes);
  reopen();
  const StepJournal journal = steps().read(m.key().id).value();
  ASSERT_EQ(journal_names(journal),
            (std::vector<std::string>{"lock_stock=" + id, "charge=", "lock_stock=B"}));
  const StepEntry& read = journal.entries[0];
  EXPECT_EQ(read.result, result);
  EXPECT_EQ(read.round, 3);
  EXPECT_EQ(read.state, StepEntry::State::kDone);
  EXPECT_EQ(read.input, first.input);
  EXPECT_TRUE(journal.entries[1].result.empty());
  EXPECT_TRUE(steps().read(message("other").key().id).value().entries.empty());
}

TEST_P(StepsSuite, AnEntryOfTheSameNameAndIdIsReplacedAndStandsLast) {
  const Message m = message("k");
  const Lease lease = acquire(m).lease;
  for (const char* id : {"A", "B"}) {
    ASSERT_EQ(steps().keep(lease, entry_of("lock", id, "held")).value(), Applied::kYes);
  }
  StepEntry undone = entry_of("lock", "A", "held");
  undone.state = StepEntry::State::kUndone;
  ASSERT_EQ(steps().keep(lease, undone).value(), Applied::kYes);
  const StepJournal journal = steps().read(m.key().id).value();
  EXPECT_EQ(journal_names(journal), (std::vector<std::string>{"lock=B", "lock=A"}));
  EXPECT_EQ(journal.entries[1].state, StepEntry::State::kUndone);
  EXPECT_EQ(journal.entries[0].state, StepEntry::State::kDone);
}

TEST_P(StepsSuite, ALateHolderKeepsNothing) {
  const Message m = message("k");
  const Lease late = acquire(m).lease;
  ASSERT_EQ(steps().keep(late, entry_of("first")).value(), Applied::kYes);
  advance(kPastLease);
  const Lease current = acquire(m).lease;
  EXPECT_EQ(steps().keep(late, entry_of("second")).value(), Applied::kLeaseLost);
  EXPECT_EQ(steps().keep(late, entry_of("first", "", "other")).value(), Applied::kLeaseLost);
  const StepJournal journal = steps().read(m.key().id).value();
  EXPECT_EQ(journal_names(journal), (std::vector<std::string>{"first="}));
  EXPECT_TRUE(journal.entries[0].result.empty());
  EXPECT_EQ(steps().keep(current, entry_of("second")).value(), Applied::kYes);
  ASSERT_EQ(finish(test::retrying(current, 0ms, &m)), Applied::kYes);
  EXPECT_EQ(steps().keep(current, entry_of("third")).value(), Applied::kLeaseLost)
      << "what is finished has no holder";
}

TEST_P(StepsSuite, TheJournalGoesThroughRetriesCrashesAndParking) {
  const Message m = message("k");
  Lease lease = acquire(m).lease;
  ASSERT_EQ(steps().keep(lease, entry_of("first")).value(), Applied::kYes);
  const auto stands = [&] { return steps().read(m.key().id).value().entries.size() == 1; };
  ASSERT_EQ(finish(test::retrying(lease, 0ms, &m)), Applied::kYes);
  EXPECT_TRUE(stands());
  acquire(m);
  advance(kPastLease);  // a crash
  lease = acquire(m).lease;
  EXPECT_TRUE(stands());
  ASSERT_EQ(finish(test::not_started(lease)), Applied::kYes);
  EXPECT_TRUE(stands());
  lease = acquire(m).lease;
  ASSERT_EQ(finish(test::parked(lease, &m)), Applied::kYes);
  EXPECT_TRUE(stands());
  ASSERT_TRUE(records().unlock(m.key().id).value());
  EXPECT_TRUE(stands());
  lease = acquire(m).lease;
  ASSERT_EQ(finish(test::dead(lease, &m)), Applied::kYes);
  EXPECT_TRUE(stands());
  reopen();
  EXPECT_TRUE(stands());
}

TEST_P(StepsSuite, TheJournalEndsWithTheRecord) {
  const Message completed = message("completed");
  const Lease lease = acquire(completed).lease;
  ASSERT_EQ(steps().keep(lease, entry_of("first")).value(), Applied::kYes);
  ASSERT_EQ(finish(test::completed(lease)), Applied::kYes);
  EXPECT_TRUE(steps().read(completed.key().id).value().entries.empty());

  const Message forgotten = message("forgotten");
  const Lease other = acquire(forgotten).lease;
  ASSERT_EQ(steps().keep(other, entry_of("first")).value(), Applied::kYes);
  ASSERT_EQ(finish(giving_up(test::parked(other, &forgotten))), Applied::kYes);
  ASSERT_TRUE(records().forget(forgotten.key().id).value());
  const StepJournal journal = steps().read(forgotten.key().id).value();
  EXPECT_TRUE(journal.entries.empty());
  EXPECT_FALSE(journal.giving_up);
}

TEST_P(StepsSuite, ADeadRecordWithoutALetterIsPurgedWithItsJournal) {
  const ConsumerNumber number = attach("short", kTtl);
  const Message m = test::make_message(number, "k");
  const Lease lease = acquire(m).lease;
  ASSERT_EQ(steps().keep(lease, entry_of("first")).value(), Applied::kYes);
  ASSERT_EQ(finish(test::dead(lease, nullptr)), Applied::kYes);
  advance(kTtl / 2);
  ASSERT_TRUE(store().purge(10s).has_value());
  EXPECT_TRUE(has_step(m));
  advance(2 * kTtl);
  purge_away(m);
  ASSERT_TRUE(store().purge(10s).has_value());
  EXPECT_TRUE(steps().read(m.key().id).value().entries.empty());
}

TEST_P(StepsSuite, ADeadRecordWithStepsIsKeptAsLongAsItsLetter) {
  if (!has(Facet::kDeadLetters)) GTEST_SKIP() << "trait: it keeps no dead letters";
  const ConsumerNumber number = attach("short", kTtl);
  const Message m = dead_with_step(number, "k", entry_of("first"));
  const Message other = test::make_message(number, "k", "another payload");
  ASSERT_EQ(finish(letter_for(other)), Applied::kYes);
  const Message plain = test::make_message(number, "plain");
  bring_to(plain, RecordState::kDead);
  advance(2 * kTtl);
  purge_away(plain);
  ASSERT_TRUE(records().show(m.key().id).value()) << "its letter may be replayed";
  EXPECT_TRUE(has_step(m));

  const std::int64_t letter = letter_of(m);
  ASSERT_EQ(dead_letters().discard({&letter, 1}).value(), 1U);
  EXPECT_TRUE(records().show(m.key().id).value());
  purge_away(m);
  EXPECT_TRUE(steps().read(m.key().id).value().entries.empty());
  EXPECT_GT(letter_of(other), 0) << "it is none of that record";
}

TEST_P(StepsSuite, ADeadRecordWithStepsGoesOnceItsLetterIsPastItsTime) {
  if (!has(Facet::kDeadLetters)) GTEST_SKIP() << "trait: it keeps no dead letters";
  const ConsumerNumber number = attach("short", kTtl);
  const Message m = dead_with_step(number, "k", entry_of("first"));
  const Message plain = test::make_message(number, "plain");
  bring_to(plain, RecordState::kDead);
  advance(2 * kTtl);
  purge_away(plain);
  ASSERT_TRUE(has_step(m));
  const std::vector<LetterLife> lives = {{number, kTtl}};
  ASSERT_EQ(dead_letters().expire(lives, 0, 100).value().removed, std::vector<std::size_t>{2});
  purge_away(m);
  EXPECT_TRUE(steps().read(m.key().id).value().entries.empty());
}

TEST_P(StepsSuite, ALetterThatIsReplayedPastTheTtlFindsItsJournal) {
  if (!has(Facet::kDeadLetters)) GTEST_SKIP() << "trait: it keeps no dead letters";
  const ConsumerNumber number = attach("short", kTtl);
  StepEntry undone = entry_of("lock_stock");
  undone.state = StepEntry::State::kUndone;
  undone.round = 3;
  const Message m = dead_with_step(number, "k", undone);
  for (const char* control : {"first", "second"}) {
    const Message plain = test::make_message(number, control);
    bring_to(plain, RecordState::kDead);
    advance(2 * kTtl);
    purge_away(plain);
    const std::int64_t letter = letter_of(m);
    ASSERT_EQ(dead_letters().replay({&letter, 1}).value().replayed, 1U);
    const Lease lease = acquire(m).lease;
    ASSERT_TRUE(has_step(m));
    EXPECT_EQ(steps().read(m.key().id).value().entries[0].round, 3);
    ASSERT_EQ(finish(test::dead(lease, &m)), Applied::kYes);
  }
}

TEST_P(StepsSuite, GivingUpIsNotedWithTheFinishAndForgottenByTheDeath) {
  const Message m = message("k");
  Lease lease = acquire(m).lease;
  ASSERT_EQ(steps().keep(lease, entry_of("first")).value(), Applied::kYes);
  ASSERT_EQ(finish(giving_up(test::retrying(lease, 0ms, &m))), Applied::kYes);
  reopen();
  auto note = steps().read(m.key().id).value().giving_up;
  ASSERT_TRUE(note);
  EXPECT_EQ(note->reason, "attempts.exhausted");
  EXPECT_EQ(note->error, "503 from the bank");
  EXPECT_EQ(note->attempts, 8);
  EXPECT_EQ(note->undo_tries, 0);
  lease = acquire(m).lease;
  ASSERT_EQ(finish(giving_up(test::retrying(lease, 0ms, &m), 2, 31)), Applied::kYes);
  EXPECT_EQ(steps().read(m.key().id).value().giving_up->undo_tries, 2);
  EXPECT_EQ(steps().read(m.key().id).value().giving_up->uncounted_undo_tries, 31);
  lease = acquire(m).lease;
  ASSERT_EQ(finish(test::parked(lease, &m)), Applied::kYes);
  EXPECT_TRUE(steps().read(m.key().id).value().giving_up) << "as it was";
  ASSERT_TRUE(records().unlock(m.key().id).value());
  lease = acquire(m).lease;
  ASSERT_EQ(finish(test::dead(lease, &m)), Applied::kYes);
  const StepJournal journal = steps().read(m.key().id).value();
  EXPECT_FALSE(journal.giving_up);
  EXPECT_EQ(journal.entries.size(), 1U) << "what a step did stays known";
}

TEST_P(StepsSuite, AFinishWhoseLeaseIsLostNotesNothing) {
  const Message m = message("k");
  const Lease late = acquire(m).lease;
  advance(kPastLease);
  acquire(m);
  ASSERT_EQ(finish(giving_up(test::retrying(late, 0ms, &m))), Applied::kLeaseLost);
  EXPECT_FALSE(steps().read(m.key().id).value().giving_up);
}

TEST_P(StepsSuite, AnOperatorHasADeadOrParkedMessageUndone) {
  for (const RecordState state : {RecordState::kDead, RecordState::kParked}) {
    const Message m = message(to_string(state), "the payload");
    const Lease lease = acquire(m).lease;
    ASSERT_EQ(steps().keep(lease, entry_of("first")).value(), Applied::kYes);
    ASSERT_EQ(finish(state == RecordState::kDead ? test::dead(lease, &m) : test::parked(lease, &m)),
              Applied::kYes);
    ASSERT_TRUE(steps().give_up(m.key().id, {"operator", "by hand", 3, 0}).value());
    EXPECT_EQ(records().show(m.key().id).value()->state, RecordState::kRetrying);
    const auto taken = has(Facet::kHeld) ? take() : std::vector<Arrival>();
    EXPECT_EQ(payloads(taken), has(Facet::kHeld) ? Payloads{"the payload"} : Payloads{});
    const StepJournal journal = steps().read(m.key().id).value();
    ASSERT_TRUE(journal.giving_up);
    EXPECT_EQ(journal.giving_up->reason, "operator");
    Finish end = test::dead(acquire(m).lease, &m);
    if (!taken.empty()) end.ack = taken[0].row;
    ASSERT_EQ(finish(end), Applied::kYes);
    EXPECT_FALSE(steps().read(m.key().id).value().giving_up);
  }
}

TEST_P(StepsSuite, AnOperatorChangesNothingThatRunsWaitsOrIsDone) {
  for (const RecordState state :
       {RecordState::kConsuming, RecordState::kRetrying, RecordState::kCompleted}) {
    const Message m = message(to_string(state));
    bring_to(m, state);
    EXPECT_FALSE(steps().give_up(m.key().id, {"operator", "", 1, 0}).value()) << to_string(state);
    EXPECT_FALSE(steps().read(m.key().id).value().giving_up);
    EXPECT_EQ(records().show(m.key().id).value()->state, state);
  }
  const Message unknown = message("unknown");
  EXPECT_FALSE(steps().give_up(unknown.key().id, {"operator", "", 1, 0}).value());
}

}  // namespace

Message StepsSuite::dead_with_step(ConsumerNumber consumer, BytesView key, const StepEntry& entry) {
  Message m = test::make_message(consumer, key);
  const Lease lease = acquire(m).lease;
  EXPECT_EQ(steps().keep(lease, entry).value(), Applied::kYes);
  EXPECT_EQ(finish(test::dead(lease, &m)), Applied::kYes);
  return m;
}

void StepsSuite::purge_away(const Message& message) {
  for (int i = 0; i < 100 && records().show(message.key().id).value(); ++i) {
    (void)store().purge(10s);  // refused for a while where the clock jumped
    advance(1min);
  }
  ASSERT_FALSE(records().show(message.key().id).value());
}

std::int64_t StepsSuite::letter_of(const Message& message) {
  for (const DeadLetter& letter : all_dead_letters()) {
    if (letter.key == message.key().text && letter.fingerprint == message.fingerprint()) {
      return letter.id;
    }
  }
  return 0;
}

}  // namespace semel::conformance
