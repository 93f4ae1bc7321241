// An operator's changes: a dead letter is edited or imported, a record is forgotten in the state
// that was seen.
#include <string>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

using test::make_message;

Message keyless(ConsumerNumber consumer, BytesView payload) {
  auto parts = test::make_parts(consumer, "", payload);
  parts.key.id = test::make_parts(consumer, Bytes("refused ") + Bytes(payload)).key.id;
  return Message(parts);
}

LetterEdit edit_of(const DeadLetter& letter, const Message& to) {
  LetterEdit edit;
  edit.id = letter.id;
  edit.before = letter.fingerprint;
  edit.payload_before = letter.payload;
  edit.headers_before = letter.headers;
  edit.payload = to.payload();
  edit.headers = {{"semel-edited", "now"}};
  edit.fingerprint = to.fingerprint();
  return edit;
}

TEST_P(DeadLetterSuite, AnEditedLetterIsReplayedUnderItsKeyAndTheOldPayloadIsAConflict) {
  const Message old = message("k", "old"), mended = message("k", "mended");
  bring_to(old, RecordState::kDead);
  const DeadLetter before = all_dead_letters().at(0);
  EXPECT_EQ(dead_letters().edit(edit_of(before, mended)).value(), Edited::kYes);
  reopen();
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].id, before.id);
  EXPECT_EQ(letters[0].key, "k");
  EXPECT_EQ(letters[0].payload, "mended");
  EXPECT_EQ(letters[0].fingerprint, mended.fingerprint());
  ASSERT_EQ(letters[0].headers.size(), 1U);
  EXPECT_EQ(letters[0].headers[0].name, "semel-edited");
  EXPECT_EQ(letters[0].reason, before.reason);
  EXPECT_EQ(letters[0].dead_at, before.dead_at);
  EXPECT_TRUE(is<Conflict>(claim(old))) << "the key now means the new payload";
  EXPECT_TRUE(is<Closed>(claim(mended))) << "an edit alone opens nothing";
  ASSERT_EQ(dead_letters().replay({&before.id, 1}).value().replayed, 1U);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].payload, "mended");
  EXPECT_EQ(taken[0].key, "k");
  EXPECT_EQ(taken[0].fingerprint, mended.fingerprint());
  EXPECT_GE(acquire(mended).attempt, 2);
}

TEST_P(DeadLetterSuite, AnEditThatWouldLieChangesNothing) {
  const Message mended = message("k", "mended");
  const auto answer = [&](const DeadLetter& letter) {
    const auto edited = dead_letters().edit(edit_of(letter, mended)).value();
    for (const DeadLetter& now : all_dead_letters()) {
      EXPECT_NE(now.payload, "mended");
    }
    return edited;
  };
  const Message first = message("k", "one"), second = message("k", "two");
  complete(first);
  ASSERT_EQ(finish(letter_for(second)), Applied::kYes);
  EXPECT_EQ(answer(all_dead_letters().at(0)), Edited::kCompleted);
  EXPECT_TRUE(is<Completed>(claim(first)));

  const Message busy = message("busy", "one"), other = message("busy", "two");
  bring_to(busy, RecordState::kDead);
  DeadLetter letter = all_dead_letters().at(1);
  ASSERT_EQ(finish(letter_for(other)), Applied::kYes);
  EXPECT_EQ(answer(all_dead_letters().at(2)), Edited::kConflict) << "the record is the other's";
  ASSERT_EQ(dead_letters().replay({&letter.id, 1}).value().replayed, 1U);
  EXPECT_EQ(answer(letter), Edited::kBusy) << "it waits for its next try";
  acquire(busy);
  EXPECT_EQ(answer(letter), Edited::kBusy) << "it is being tried";
  letter.fingerprint = mended.fingerprint();
  EXPECT_EQ(answer(letter), Edited::kMoved) << "somebody edited it meanwhile";
  letter.id += 1000;
  EXPECT_EQ(answer(letter), Edited::kMissing);
}

TEST_P(DeadLetterSuite, WhatMayHaveHadItsEffectIsNotEdited) {
  const Message m = message("k", "old");
  acquire(m);
  advance(kPastLease);
  ASSERT_EQ(finish(test::dead(acquire(m).lease, &m, "handler.timeout")), Applied::kYes);
  const DeadLetter letter = all_dead_letters().at(0);
  ASSERT_TRUE(records().show(m.key().id).value()->outcome_unknown);
  EXPECT_EQ(dead_letters().edit(edit_of(letter, message("k", "new"))).value(),
            Edited::kUnknownOutcome);
  EXPECT_EQ(all_dead_letters().at(0).payload, "old");
}

TEST_P(DeadLetterSuite, ALetterDoesNotBecomeItsTwin) {
  ASSERT_EQ(finish(letter_for(message("k", "one"))), Applied::kYes);
  ASSERT_EQ(finish(letter_for(message("k", "two"))), Applied::kYes);
  const DeadLetter one = all_dead_letters().at(0);
  EXPECT_EQ(dead_letters().edit(edit_of(one, message("k", "two"))).value(), Edited::kTwin);
  EXPECT_EQ(all_dead_letters().at(0).payload, "one");
  EXPECT_EQ(dead_letters().edit(edit_of(one, message("k", "one"))).value(), Edited::kYes)
      << "the same payload again is no twin";
}

// Each edit is of what its caller saw, whatever of it changed.
TEST_P(DeadLetterSuite, ALetterThatChangedSinceItWasSeenIsNotEdited) {
  const Message old = message("k", "old");
  bring_to(old, RecordState::kDead);
  const DeadLetter seen = all_dead_letters().at(0);
  LetterEdit headers = edit_of(seen, old);
  headers.headers = {{"a", Bytes("\0b", 2)}};
  ASSERT_EQ(dead_letters().edit(headers).value(), Edited::kYes);
  EXPECT_EQ(dead_letters().edit(edit_of(seen, message("k", "mended"))).value(), Edited::kMoved)
      << "its headers are others, and its fingerprint is not";
  LetterEdit payload = edit_of(all_dead_letters().at(0), old);
  payload.payload = "other bytes of one fingerprint";
  ASSERT_EQ(dead_letters().edit(payload).value(), Edited::kYes);
  EXPECT_EQ(dead_letters().edit(headers).value(), Edited::kMoved);
  payload.headers_before = payload.headers;
  EXPECT_EQ(dead_letters().edit(payload).value(), Edited::kMoved) << "its payload is another";
  EXPECT_EQ(all_dead_letters().at(0).payload, "other bytes of one fingerprint");
}

// A delivery of the old payload is the one that was edited, until the letter is gone.
TEST_P(DeadLetterSuite, AnEditedLetterKnowsItsFirstFingerprint) {
  const Message old = message("k", "old"), once = message("k", "once"), mended = message("k", "m");
  bring_to(old, RecordState::kDead);
  bring_to(message("k2", "m"), RecordState::kDead);
  const auto replaces = [&](const Message& now, const Message& original) {
    return dead_letters()
        .replaces(now.key().id, now.key().text, now.fingerprint(), original.fingerprint())
        .value();
  };
  EXPECT_FALSE(replaces(old, old)) << "nobody has edited it";
  ASSERT_EQ(dead_letters().edit(edit_of(all_dead_letters().at(0), once)).value(), Edited::kYes);
  EXPECT_TRUE(replaces(once, old));
  ASSERT_EQ(dead_letters().edit(edit_of(all_dead_letters().at(0), mended)).value(), Edited::kYes);
  reopen();
  EXPECT_TRUE(replaces(mended, old));
  EXPECT_FALSE(replaces(mended, once)) << "nobody has delivered that one";
  EXPECT_FALSE(replaces(once, old)) << "the letter is another by now";
  EXPECT_FALSE(replaces(message("k2", "m"), old)) << "another key's";
  const std::int64_t id = all_dead_letters().at(0).id;
  ASSERT_EQ(dead_letters().replay({&id, 1}).value().replayed, 1U);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  auto dead_again = test::dead(acquire(mended).lease, &mended);
  dead_again.ack = taken[0].row;
  ASSERT_EQ(finish(dead_again), Applied::kYes);
  EXPECT_TRUE(replaces(mended, old)) << "given up again, it is the same letter";
  EXPECT_EQ(all_dead_letters().at(0).payload, "m");
  ASSERT_EQ(dead_letters().discard({&id, 1}).value(), 1U);
  EXPECT_FALSE(replaces(mended, old));
}

TEST_P(DeadLetterSuite, AnEditedLetterWithoutKeyIsReadByTheRecipeAgain) {
  ASSERT_EQ(finish(letter_for(keyless(consumer(), "{}"), "key.missing")), Applied::kYes);
  const DeadLetter letter = all_dead_letters().at(0);
  EXPECT_EQ(dead_letters().edit(edit_of(letter, message("", "{\"id\":1}"))).value(), Edited::kYes);
  ASSERT_EQ(dead_letters().replay({&letter.id, 1}).value().replayed, 1U);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].payload, "{\"id\":1}");
  EXPECT_FALSE(taken[0].key.has_value());
}

ForeignLetter foreign(const Message& message, std::string consumer = "payments") {
  ForeignLetter made;
  DeadLetter& letter = made.letter;
  letter.consumer = std::move(consumer);
  letter.key = message.key().text;
  letter.fingerprint = message.fingerprint();
  letter.reason = "handler.native";
  letter.error = "why \xff";
  letter.attempts = 4;
  letter.partition = "p";
  letter.position = "17";
  letter.payload = message.payload();
  letter.headers = {{"h", Bytes("v\0\xff", 3)}};
  letter.content_type = "text/plain";
  letter.type = "made";
  letter.first_seen = StoreTime(milliseconds(1'000));
  letter.dead_at = StoreTime(milliseconds(2'000));
  letter.replayed = 3;
  if (!letter.key.empty()) made.record = message.key().id;
  return made;
}

TEST_P(DeadLetterSuite, ALetterFromElsewhereIsKeptWholeAndOnce) {
  const Message m = message(Bytes("k\0", 2), Bytes("\0payload\xff", 9));
  const ForeignLetter given = foreign(m);
  const auto report = dead_letters().add({&given, 1}).value();
  EXPECT_EQ(report.added, 1U);
  EXPECT_EQ(report.present, 0U);
  reopen();
  EXPECT_EQ(dead_letters().add({&given, 1}).value().present, 1U);
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  const DeadLetter& letter = letters[0];
  EXPECT_EQ(letter.key, m.key().text);
  EXPECT_EQ(letter.payload, m.payload());
  EXPECT_EQ(letter.fingerprint, m.fingerprint());
  EXPECT_EQ(letter.reason, "handler.native");
  EXPECT_EQ(letter.error, given.letter.error);
  EXPECT_EQ(letter.attempts, 4);
  EXPECT_EQ(letter.partition, "p");
  EXPECT_EQ(letter.position, "17");
  ASSERT_EQ(letter.headers.size(), 1U);
  EXPECT_EQ(letter.headers[0].value, given.letter.headers[0].value);
  EXPECT_EQ(letter.content_type, "text/plain");
  EXPECT_EQ(letter.type, "made");
  EXPECT_EQ(letter.first_seen, given.letter.first_seen);
  EXPECT_EQ(letter.dead_at, given.letter.dead_at);
  EXPECT_EQ(letter.replayed, 3);
  EXPECT_FALSE(records().show(m.key().id).value().has_value()) << "no record comes with it";
  ASSERT_EQ(dead_letters().replay({&letter.id, 1}).value().replayed, 1U);
  EXPECT_EQ(take().at(0).key, m.key().text);
  EXPECT_EQ(acquire(m).attempt, 1);
}

TEST_P(DeadLetterSuite, LettersWithoutKeyAreAddedOnceToo) {
  std::vector<ForeignLetter> given = {foreign(keyless(consumer(), "a")),
                                      foreign(keyless(consumer(), "b"))};
  given[1].letter.partition.clear();
  given[1].letter.position.clear();
  EXPECT_EQ(dead_letters().add(given).value().added, 2U);
  EXPECT_EQ(dead_letters().add(given).value().present, 2U);
  EXPECT_EQ(all_dead_letters().size(), 2U);
}

TEST_P(DeadLetterSuite, LettersOfAnUnknownConsumerAreRefusedWhole) {
  const std::vector<ForeignLetter> given = {foreign(message("k")),
                                            foreign(message("x"), "strangers")};
  const auto report = dead_letters().add(given);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, ErrorKind::kRejected);
  EXPECT_NE(report.error().message.find("strangers"), std::string::npos);
  EXPECT_TRUE(all_dead_letters().empty());
}

TEST_P(DeadLetterSuite, AnAddedLetterOfACompletedKeyIsSkippedByReplay) {
  const Message m = message("k", "payload");
  complete(m);
  const ForeignLetter given = foreign(m);
  ASSERT_EQ(dead_letters().add({&given, 1}).value().added, 1U);
  const std::int64_t id = all_dead_letters().at(0).id;
  EXPECT_EQ(dead_letters().replay({&id, 1}).value().skipped_completed, 1U);
  EXPECT_TRUE(is<Completed>(claim(m)));
}

TEST_P(RecordsSuite, WhatMovedOnIsNotForgotten) {
  const Message m = message("k", "payload");
  bring_to(m, RecordState::kDead);
  const RecordView seen = records().show(m.key().id).value().value();
  ASSERT_TRUE(records().unlock(m.key().id).value());
  EXPECT_FALSE(records().forget_as(seen.id, seen.state, seen.token).value());
  const RecordView waiting = records().show(m.key().id).value().value();
  Finish done = test::completed(acquire(m).lease);
  ASSERT_EQ(finish(done), Applied::kYes);
  EXPECT_FALSE(records().forget_as(seen.id, seen.state, seen.token).value());
  EXPECT_FALSE(records().forget_as(waiting.id, waiting.state, waiting.token).value());
  EXPECT_TRUE(is<Completed>(claim(m)));
  const RecordView completed = records().show(m.key().id).value().value();
  EXPECT_TRUE(records().forget_as(completed.id, completed.state, completed.token).value());
  EXPECT_FALSE(records().show(m.key().id).value().has_value());
  EXPECT_FALSE(records().forget_as(completed.id, completed.state, completed.token).value());
}

TEST_P(RecordsSuite, AnotherClaimOfTheSameStateIsNotForgotten) {
  const Message m = message("k", "payload");
  bring_to(m, RecordState::kDead);
  const RecordView seen = records().show(m.key().id).value().value();
  ASSERT_TRUE(records().unlock(m.key().id).value());
  ASSERT_EQ(finish(test::dead(acquire(m).lease, &m, "handler.native")), Applied::kYes);
  EXPECT_EQ(records().show(m.key().id).value()->state, seen.state);
  EXPECT_FALSE(records().forget_as(seen.id, seen.state, seen.token).value())
      << "dead again, of another try";
}

// A person who saw a failure does not unlock what has an unknown outcome by then.
TEST_P(RecordsSuite, AnotherClaimOfTheSameStateIsNeitherUnlockedNorSeized) {
  const Message m = message("k", "payload");
  bring_to(m, RecordState::kParked);
  const RecordView seen = records().show(m.key().id).value().value();
  EXPECT_FALSE(records().unlock_as(seen.id, RecordState::kDead, seen.token).value());
  EXPECT_FALSE(records().seize_as(seen.id, RecordState::kDead, seen.token, kLease).value());
  ASSERT_TRUE(records().unlock_as(seen.id, seen.state, seen.token).value());
  EXPECT_FALSE(records().unlock_as(seen.id, seen.state, seen.token).value()) << "once";
  bring_to(m, RecordState::kParked);
  const RecordView again = records().show(m.key().id).value().value();
  ASSERT_EQ(again.state, seen.state);
  ASSERT_NE(again.token, seen.token);
  EXPECT_FALSE(records().unlock_as(seen.id, seen.state, seen.token).value());
  EXPECT_FALSE(records().seize_as(seen.id, seen.state, seen.token, kLease).value());
  EXPECT_EQ(records().show(m.key().id).value()->state, RecordState::kParked);
  EXPECT_TRUE(records().seize_as(again.id, again.state, again.token, kLease).value().has_value());
  EXPECT_FALSE(records().seize_as(again.id, again.state, again.token, kLease).value().has_value());
  EXPECT_FALSE(records().unlock_as(message("never").key().id, seen.state, seen.token).value());
}

TEST_P(RecordsSuite, ADeadOneIsUnlockedAsItWasSeen) {
  const Message m = message("k", "payload");
  bring_to(m, RecordState::kDead);
  const RecordView seen = records().show(m.key().id).value().value();
  EXPECT_FALSE(records().unlock_as(seen.id, seen.state, seen.token + 1).value());
  ASSERT_TRUE(records().unlock_as(seen.id, seen.state, seen.token).value());
  EXPECT_EQ(records().show(m.key().id).value()->state, RecordState::kRetrying);
}

// The clock of the process may be wrong by hours.
TEST_P(RecordsSuite, ARecordSaysWhenItWasReadByTheClockOfItsLease) {
  const Message m = message("k", "payload");
  acquire(m);
  const auto seen = records().show(m.key().id).value().value();
  ASSERT_TRUE(seen.read_at && seen.lease_until);
  EXPECT_LT(*seen.read_at, *seen.lease_until);
  EXPECT_LE(*seen.first_seen, *seen.read_at);
  const StoreTime clock = records().read_clock().value();
  EXPECT_LE(*seen.read_at, clock);
  EXPECT_LT(clock, *seen.lease_until);
  advance(kPastLease);
  EXPECT_GT(records().read_clock().value(), *seen.lease_until);
  const auto later = records().show(m.key().id).value().value();
  EXPECT_GT(*later.read_at, *later.lease_until);
  const auto listed = records().list(consumer(), RecordState::kConsuming, 10).value();
  ASSERT_EQ(listed.size(), 1U);
  ASSERT_TRUE(listed[0].read_at);
  EXPECT_GT(*listed[0].read_at, *listed[0].lease_until);
}

}  // namespace
}  // namespace semel::conformance
