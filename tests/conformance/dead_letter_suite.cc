// DeadLetters: messages that were given up, and the acts on them.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

using test::make_message;

TEST_P(DeadLetterSuite, ADeadMessageIsKeptWhole) {
  auto parts = test::make_parts(consumer(), Bytes("k\0\xff", 3), Bytes("\0payload\xff", 9));
  parts.headers = {{"h", Bytes("v\0", 2)}};
  parts.content_type = "application/json";
  parts.type = "payment.made";
  const Message m(parts);
  Arrival origin;
  origin.partition = "orders-3";
  origin.position = "orders-3-17";
  Finish die = test::dead(acquire(m).lease, &m, "handler.sql.constraint");
  die.error = "UNIQUE constraint failed: t.a";
  die.attempts = 3;
  die.arrival = &origin;
  ASSERT_EQ(finish(die), Applied::kYes);
  reopen();
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  const DeadLetter& letter = letters[0];
  EXPECT_EQ(letter.consumer, "payments");
  EXPECT_EQ(letter.key, m.key().text);
  EXPECT_EQ(letter.fingerprint, m.fingerprint());
  EXPECT_EQ(letter.reason, "handler.sql.constraint");
  EXPECT_EQ(letter.error, "UNIQUE constraint failed: t.a");
  EXPECT_EQ(letter.attempts, 3);
  EXPECT_EQ(letter.partition, "orders-3");
  EXPECT_EQ(letter.position, "orders-3-17");
  EXPECT_EQ(letter.payload, m.payload());
  ASSERT_EQ(letter.headers.size(), 1U);
  EXPECT_EQ(letter.headers[0].value, parts.headers[0].value);
  EXPECT_EQ(letter.content_type, "application/json");
  EXPECT_EQ(letter.type, "payment.made");
  EXPECT_EQ(letter.replayed, 0);
  EXPECT_GE(letter.dead_at, letter.first_seen);
  const auto shown = dead_letters().show(letter.id).value();
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->payload, m.payload());
  EXPECT_EQ(shown->headers.size(), 1U);
  EXPECT_FALSE(dead_letters().show(letter.id + 1000).value().has_value());
}

TEST_P(DeadLetterSuite, PayloadsUnderACompletedKeyAreLettersOfTheirOwn) {
  const Message first = message("k", "one");
  complete(first);
  const Message second = message("k", "two");
  const Message third = message("k", "three");
  const Message fourth = message("k", "four");
  for (const Message* m : {&second, &third, &fourth}) {
    ASSERT_TRUE(is<Conflict>(claim(*m)));
    ASSERT_EQ(finish(letter_for(*m)), Applied::kYes);
  }
  EXPECT_EQ(all_dead_letters().size(), 3U);
  EXPECT_TRUE(is<Completed>(claim(first))) << "the record stays completed";
}

TEST_P(DeadLetterSuite, OnePayloadUnderOneKeyIsOneLetter) {
  const Message first = message("k", "one");
  complete(first);
  const Message second = message("k", "two");
  ASSERT_EQ(finish(letter_for(second)), Applied::kYes);
  const std::int64_t id = all_dead_letters().at(0).id;
  advance(1h);
  ASSERT_EQ(finish(letter_for(second)), Applied::kYes);
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].id, id);
}

TEST_P(DeadLetterSuite, ConsumersHaveLettersOfTheirOwn) {
  const ConsumerNumber other = attach("refunds");
  ASSERT_EQ(finish(letter_for(message("k", "one"))), Applied::kYes);
  ASSERT_EQ(finish(letter_for(make_message(other, "k", "one"))), Applied::kYes);
  EXPECT_EQ(all_dead_letters().size(), 2U);
}

TEST_P(DeadLetterSuite, AMessageWithoutKeyIsKeptToo) {
  auto parts = test::make_parts(consumer(), "", "no key in here");
  parts.key.id = test::make_parts(consumer(), "a digest of what is there").key.id;
  const Message m(parts);
  ASSERT_EQ(finish(letter_for(m, "key.missing")), Applied::kYes);
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].key, "");
  const std::int64_t id = letters[0].id;
  EXPECT_EQ(dead_letters().replay({&id, 1}).value().replayed, 1U);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].payload, "no key in here");
  EXPECT_FALSE(taken[0].key.has_value()) << "the recipe looks again";
}

TEST_P(DeadLetterSuite, ListFilters) {
  const ConsumerNumber other = attach("refunds");
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(finish(letter_for(message("k" + std::to_string(i)), "key.conflict")), Applied::kYes);
  }
  ASSERT_EQ(finish(letter_for(message("x"), "too_large")), Applied::kYes);
  ASSERT_EQ(finish(letter_for(make_message(other, "k0"), "too_large")), Applied::kYes);
  const auto list = [&](const DeadLetterFilter& filter) {
    return dead_letters().list(filter).value();
  };
  DeadLetterFilter filter;
  EXPECT_EQ(list(filter).size(), 7U);
  EXPECT_EQ(list(filter)[0].payload, "") << "not asked for";
  filter.consumer = "payments";
  EXPECT_EQ(list(filter).size(), 6U);
  filter.reason = "too_large";
  EXPECT_EQ(list(filter).size(), 1U);
  filter.consumer = "nobody";
  EXPECT_EQ(list(filter).size(), 0U);
  filter = {};
  filter.limit = 3;
  auto page = list(filter);
  ASSERT_EQ(page.size(), 3U);
  EXPECT_LT(page[0].id, page[1].id);
  EXPECT_LT(page[1].id, page[2].id);
  filter.after = page[2].id;
  filter.limit = 100;
  page = list(filter);
  EXPECT_EQ(page.size(), 4U) << "the pages neither overlap nor leave a gap";
}

TEST_P(DeadLetterSuite, AReplayedLetterComesBackThroughItsRecord) {
  const Message m = message("k", "payload");
  bring_to(m, RecordState::kDead);
  const std::int64_t id = all_dead_letters().at(0).id;
  const auto report = dead_letters().replay({&id, 1}).value();
  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(report.skipped_completed + report.skipped_conflict + report.missing, 0U);
  reopen();
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].payload, "payload");
  EXPECT_EQ(taken[0].key, m.key().text);
  ASSERT_TRUE(taken[0].fingerprint.has_value());
  EXPECT_EQ(*taken[0].fingerprint, m.fingerprint());
  const Acquired acquired = acquire(m);
  EXPECT_GE(acquired.attempt, 2) << "the attempts before are not forgotten";
  Finish die = test::dead(acquired.lease, &m, "handler.timeout");
  die.ack = taken[0].row;
  ASSERT_EQ(finish(die), Applied::kYes);
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U) << "dead again: the same letter";
  EXPECT_EQ(letters[0].reason, "handler.timeout");
  EXPECT_EQ(letters[0].replayed, 1);
}

TEST_P(DeadLetterSuite, AReplayOfWhatIsDoneMeanwhileIsSkipped) {
  const Message m = message("k", "payload");
  bring_to(m, RecordState::kDead);
  const std::int64_t id = all_dead_letters().at(0).id;
  ASSERT_EQ(dead_letters().replay({&id, 1}).value().replayed, 1U);
  Finish done = test::completed(acquire(m).lease);
  done.ack = take().at(0).row;
  ASSERT_EQ(finish(done), Applied::kYes);
  // The letter of the first death may be gone by now; one that died without lease is not.
  ASSERT_EQ(finish(letter_for(m)), Applied::kYes);
  const std::int64_t again = all_dead_letters().at(0).id;
  const auto report = dead_letters().replay({&again, 1}).value();
  EXPECT_EQ(report.skipped_completed, 1U);
  EXPECT_EQ(report.replayed, 0U);
  EXPECT_TRUE(take().empty());
}

TEST_P(DeadLetterSuite, AReplayUnderAnothersKeyIsSkipped) {
  complete(message("k", "one"));
  ASSERT_EQ(finish(letter_for(message("k", "two"))), Applied::kYes);
  bring_to(message("open", "one"), RecordState::kConsuming);
  ASSERT_EQ(finish(letter_for(message("open", "two"))), Applied::kYes);
  std::vector<std::int64_t> ids = {987'654};
  for (const DeadLetter& letter : all_dead_letters()) ids.push_back(letter.id);
  const auto report = dead_letters().replay(ids).value();
  EXPECT_EQ(report.skipped_conflict, 2U);
  EXPECT_EQ(report.missing, 1U);
  EXPECT_EQ(report.replayed, 0U);
  EXPECT_TRUE(take().empty());
  using Result = ReplayReport::Result;
  auto letters = report.letters;
  std::ranges::sort(letters);
  std::vector<std::pair<std::int64_t, Result>> expected = {{987'654, Result::kMissing},
                                                           {ids[1], Result::kSkippedConflict},
                                                           {ids[2], Result::kSkippedConflict}};
  std::ranges::sort(expected);
  EXPECT_EQ(letters, expected);
}

TEST_P(DeadLetterSuite, ALetterWithoutRecordIsReplayedAsNew) {
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(letter_for(m, "handler.native")), Applied::kYes);
  const std::int64_t id = all_dead_letters().at(0).id;
  const auto report = dead_letters().replay({&id, 1}).value();
  EXPECT_EQ(report.replayed, 1U);
  const std::vector<std::pair<std::int64_t, ReplayReport::Result>> each = {
      {id, ReplayReport::Result::kReplayed}};
  EXPECT_EQ(report.letters, each);
  EXPECT_EQ(take().size(), 1U);
  EXPECT_EQ(acquire(m).attempt, 1);
}

TEST_P(DeadLetterSuite, ADiscardedLetterIsGoneAndItsRecordStaysClosed) {
  const Message m = message("k", "payload");
  bring_to(m, RecordState::kDead);
  const std::vector<std::int64_t> ids = {all_dead_letters().at(0).id, 987'654};
  EXPECT_EQ(dead_letters().discard(ids).value(), 1U);
  EXPECT_TRUE(all_dead_letters().empty());
  EXPECT_TRUE(is<Closed>(claim(m)));
  EXPECT_EQ(dead_letters().discard(ids).value(), 0U);
  EXPECT_EQ(dead_letters().replay(ids).value().missing, 2U);
}

TEST_P(DeadLetterSuite, TheIdOfADiscardedLetterIsNotUsedAgain) {
  ASSERT_EQ(finish(letter_for(message("a"))), Applied::kYes);
  const std::int64_t id = all_dead_letters().at(0).id;
  ASSERT_EQ(dead_letters().discard({&id, 1}).value(), 1U);
  ASSERT_EQ(finish(letter_for(message("b"))), Applied::kYes);
  EXPECT_GT(all_dead_letters().at(0).id, id) << "a script that kept it would hit another letter";
}

TEST_P(DeadLetterSuite, ALetterPastItsTimeGoesAndItsRecordStaysClosed) {
  const ConsumerNumber other = attach("refunds");
  const Message old = message("old");
  bring_to(old, RecordState::kDead);
  ASSERT_EQ(finish(letter_for(make_message(other, "old"))), Applied::kYes);
  advance(2h);
  ASSERT_EQ(finish(letter_for(message("new"))), Applied::kYes);
  const std::vector<LetterLife> lives = {{other, 3h}, {consumer(), 1h}};
  const auto report = dead_letters().expire(lives, 0, 100).value();
  EXPECT_EQ(report.removed, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(report.next, 0);
  reopen();
  std::set<Bytes> left;
  for (const DeadLetter& letter : all_dead_letters()) left.insert(letter.consumer + letter.key);
  EXPECT_EQ(left, (std::set<Bytes>{"paymentsnew", "refundsold"}));
  EXPECT_TRUE(is<Closed>(claim(old)));
  advance(2h);
  EXPECT_EQ(dead_letters().expire(lives, 0, 100).value().removed, (std::vector<std::size_t>{1, 1}));
  EXPECT_TRUE(all_dead_letters().empty());
}

TEST_P(DeadLetterSuite, AConsumerWithoutALifeKeepsItsLetters) {
  const ConsumerNumber other = attach("refunds");
  ASSERT_EQ(finish(letter_for(message("k"))), Applied::kYes);
  advance(1000h);
  const std::vector<LetterLife> lives = {{other, 1h}};
  EXPECT_EQ(dead_letters().expire(lives, 0, 100).value().removed, std::vector<std::size_t>{0});
  EXPECT_TRUE(dead_letters().expire({}, 0, 100).value().removed.empty());
  EXPECT_EQ(all_dead_letters().size(), 1U);
}

TEST_P(DeadLetterSuite, ALetterThatDiedAgainIsAsYoungAsItsLastDeath) {
  ASSERT_EQ(finish(letter_for(message("k"))), Applied::kYes);
  advance(2h);
  ASSERT_EQ(finish(letter_for(message("k"))), Applied::kYes);
  const std::vector<LetterLife> lives = {{consumer(), 1h}};
  EXPECT_EQ(dead_letters().expire(lives, 0, 100).value().removed, std::vector<std::size_t>{0});
  EXPECT_EQ(all_dead_letters().size(), 1U);
}

TEST_P(DeadLetterSuite, ALetterThatAReplayHasInHandStays) {
  const Message m = message("k", "payload");
  const Message parked = message("p", "payload");
  for (const Message* each : {&m, &parked}) bring_to(*each, RecordState::kDead);
  std::vector<std::int64_t> ids;
  for (const DeadLetter& letter : all_dead_letters()) ids.push_back(letter.id);
  ASSERT_EQ(dead_letters().replay(ids).value().replayed, 2U);
  advance(2h);
  const std::vector<LetterLife> lives = {{consumer(), 1h}};
  const auto expired = [&] { return dead_letters().expire(lives, 0, 100).value().removed.at(0); };
  EXPECT_EQ(expired(), 0U) << "their records are retrying";
  std::map<Bytes, std::optional<RowTag>> rows;
  for (const Arrival& arrival : take()) rows[arrival.key.value_or(Bytes())] = arrival.row;
  ASSERT_EQ(rows.size(), 2U);
  Finish die = test::dead(acquire(m).lease, &m, "handler.timeout");
  die.ack = rows["k"];
  Finish park = test::parked(acquire(parked).lease, &parked);
  park.ack = rows["p"];
  ASSERT_EQ(finish(park), Applied::kYes);
  EXPECT_EQ(expired(), 0U) << "one is consuming, one parked";
  ASSERT_EQ(all_dead_letters().size(), 2U);
  ASSERT_EQ(finish(die), Applied::kYes);
  EXPECT_EQ(expired(), 0U) << "it has died just now";
  advance(2h);
  EXPECT_EQ(expired(), 1U);
  ASSERT_EQ(all_dead_letters().size(), 1U);
  EXPECT_EQ(all_dead_letters()[0].key, "p");
}

TEST_P(DeadLetterSuite, ALetterOfAnotherPayloadThanItsRecordsIsPastItsTimeToo) {
  bring_to(message("open", "one"), RecordState::kConsuming);
  ASSERT_EQ(finish(letter_for(message("open", "two"))), Applied::kYes);
  complete(message("done", "one"));
  ASSERT_EQ(finish(letter_for(message("done", "two"))), Applied::kYes);
  advance(2h);
  const std::vector<LetterLife> lives = {{consumer(), 1h}};
  EXPECT_EQ(dead_letters().expire(lives, 0, 100).value().removed, std::vector<std::size_t>{2});
}

TEST_P(DeadLetterSuite, TheWalkOverLettersPastTheirTimeGoesOnInParts) {
  constexpr std::size_t kLetters = 300;
  constexpr std::size_t kPart = 70;
  for (std::size_t i = 0; i < kLetters; ++i) {
    ASSERT_EQ(finish(letter_for(message("k" + std::to_string(i)))), Applied::kYes);
  }
  advance(2h);
  ASSERT_EQ(finish(letter_for(message("new"))), Applied::kYes);
  const std::vector<LetterLife> lives = {{consumer(), 1h}};
  std::size_t removed = 0;
  std::int64_t after = 0;
  do {
    const auto part = dead_letters().expire(lives, after, kPart).value();
    EXPECT_LE(part.removed.at(0), kPart);
    EXPECT_TRUE(part.next == 0 || part.next > after);
    removed += part.removed.at(0);
    after = part.next;
  } while (after != 0);
  EXPECT_EQ(removed, kLetters);
  EXPECT_EQ(all_dead_letters().size(), 1U);
}

TEST_P(DeadLetterSuite, TheStoreTellsHowOldItsOldestLetterIs) {
  const auto oldest = [&] {
    const StoreStats stats = records().backlog().value();
    for (const auto& one : stats.consumers) {
      if (one.number == consumer()) return one.oldest_dead_letter;
    }
    return std::optional<StoreTime>();
  };
  EXPECT_FALSE(oldest());
  ASSERT_EQ(finish(letter_for(message("a"))), Applied::kYes);
  advance(1h);
  ASSERT_EQ(finish(letter_for(message("b"))), Applied::kYes);
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 2U);
  ASSERT_LT(letters[0].dead_at, letters[1].dead_at);
  // A store that finds records only by reading all names finds the oldest letter only so, too.
  const bool tells = records().backlog().value().records_counted;
  EXPECT_EQ(oldest(), tells ? std::optional(letters[0].dead_at) : std::nullopt);
}

}  // namespace
}  // namespace semel::conformance
