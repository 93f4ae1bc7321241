// The journal of steps in a record: its cost for messages without steps, its fate with an older
// Semel, and the reading of a damaged one.
#include "stores/redis/journal.h"

#include <fmt/format.h>

#include <semel/admin/records.h>

#include "stores/redis/test_place.h"

namespace semel::redis {
namespace {

StepEntry step(std::string name, Bytes result = {}) {
  StepEntry entry;
  entry.name = std::move(name);
  entry.result = std::move(result);
  return entry;
}

class RedisJournal : public testing::Test {
 protected:
  StepStore& steps() { return *place_.store().facets().steps; }
  RecordInspector& records() { return *place_.store().facets().records; }
  void keep(const Lease& lease, const StepEntry& entry) {
    ASSERT_EQ(steps().keep(lease, entry).value(), Applied::kYes);
  }
  StepJournal journal(const Message& m) { return steps().read(m.key().id).value(); }
  void finish(const Finish& finish) { ASSERT_EQ(place_.finish(finish).value(), Applied::kYes); }
  Bytes bytes(const Message& m) { return place_.server().run({"GET", place_.name(m)}); }
  int format(const Message& m) { return bytes(m).at(0); }
  std::string expiry(const Message& m) { return place_.server().run({"PTTL", place_.name(m)}); }

  TestPlace place_{shared()};
};

TEST_F(RedisJournal, WithoutStepsARecordIsWhatItWas) {
  const Message m = place_.message("k");
  Lease lease = place_.acquire(m);
  EXPECT_EQ(format(m), kFormat);
  EXPECT_TRUE(journal(m).entries.empty());
  EXPECT_EQ(format(m), kFormat);
  finish(test::retrying(lease, 0ms, &m));
  EXPECT_EQ(format(m), kFormat);
  finish(test::parked(place_.acquire(m), &m));
  EXPECT_EQ(format(m), kFormat);
  ASSERT_TRUE(records().unlock(m.key().id).value());
  finish(test::dead(place_.acquire(m), &m));
  EXPECT_EQ(format(m), kFormat);
}

// The older one refuses the version, as WhatANewerSemelWroteIsNotForgotten tests for the next one.
TEST_F(RedisJournal, ARecordThatHasOneIsOfAVersionThatAnOlderSemelRefuses) {
  const Message m = place_.message("k");
  const Message plain = place_.message("plain");
  finish(test::completed(place_.acquire(plain)));
  Lease lease = place_.acquire(m);
  keep(lease, step("first"));
  EXPECT_EQ(format(m), kJournalFormat);
  ASSERT_EQ(place_.store().renew({&lease, 1}, 60s).value().front(), Applied::kYes);
  EXPECT_EQ(format(m), kJournalFormat);
  finish(test::retrying(lease, 0ms, &m));
  EXPECT_EQ(format(m), kJournalFormat);
  lease = place_.acquire(m);
  EXPECT_EQ(format(m), kJournalFormat);
  EXPECT_EQ(decoded(bytes(m)).attempt, 2);
  finish(test::completed(lease));
  EXPECT_EQ(format(m), kFormat) << "what is done has none";
  EXPECT_EQ(bytes(m).size(), bytes(plain).size()) << "and is as small as any";
}

// A change without a note leaves the record's reason and error where they were.
TEST_F(RedisJournal, ReasonAndErrorStandBesideIt) {
  const Message m = place_.message("k");
  Lease lease = place_.acquire(m);
  keep(lease, step("first", Bytes("\0\xff", 2)));
  Finish parked = test::parked(lease, &m);
  parked.reason = "handler";
  parked.error = "503";
  parked.giving_up = GivingUp{"why", "what", 4, 1, 7};
  finish(parked);
  auto shown = records().show(m.key().id).value();
  EXPECT_EQ(shown->reason + " " + shown->error, "handler 503");
  EXPECT_EQ(shown->key, "k");
  auto claimed = place_.try_claim(m);
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  EXPECT_TRUE(std::holds_alternative<Closed>(*claimed));
  ASSERT_TRUE(records().unlock(m.key().id).value());
  lease = place_.acquire(m);
  keep(lease, step("second"));
  finish(test::not_started(lease));
  shown = records().show(m.key().id).value();
  EXPECT_EQ(shown->reason + " " + shown->error, "handler 503") << "as if it had not been";
  EXPECT_EQ(journal(m).entries.size(), 2U);
  EXPECT_EQ(journal(m).entries[0].result, Bytes("\0\xff", 2));
  EXPECT_EQ(journal(m).giving_up->attempts, 4);
  EXPECT_EQ(journal(m).giving_up->undo_tries, 1);
  EXPECT_EQ(journal(m).giving_up->uncounted_undo_tries, 7);
}

TEST_F(RedisJournal, AClaimThatIsUndoneLeavesWhatItsStepsDid) {
  const Message m = place_.message("k");
  const Lease lease = place_.acquire(m);
  keep(lease, step("first"));
  finish(test::not_started(lease));
  EXPECT_EQ(journal(m).entries.size(), 1U);
  const auto again = place_.try_claim(m);
  ASSERT_TRUE(std::holds_alternative<Acquired>(again.value()));
  EXPECT_EQ(std::get<Acquired>(*again).attempt, 1);
}

TEST_F(RedisJournal, ItGoesWhenItsRecordDoesAndNotBefore) {
  place_.open(1h);
  const Message m = place_.message("k");
  const Lease lease = place_.acquire(m);
  keep(lease, step("first"));
  EXPECT_EQ(expiry(m), "-1");
  finish(test::dead(lease, &m));
  EXPECT_EQ(expiry(m), "-1") << "its letter may be replayed";
  DeadLetters& letters = *place_.store().facets().dead_letters;
  const std::int64_t letter = letters.list({}).value().at(0).id;
  ASSERT_EQ(letters.discard({&letter, 1}).value(), 1U);
  EXPECT_NE(expiry(m), "-1");
  ASSERT_TRUE(steps().give_up(m.key().id, {"operator", "", 1, 0}).value());
  EXPECT_EQ(expiry(m), "-1");
  EXPECT_EQ(journal(m).entries.size(), 1U);
  place_.server().run({"DEL", place_.name(m)});
  EXPECT_TRUE(journal(m).entries.empty());
  EXPECT_FALSE(journal(m).giving_up);
  place_.acquire(m);
  EXPECT_TRUE(journal(m).entries.empty()) << "another message under the same key has its own";
}

TEST_F(RedisJournal, WhatIsSaidTwiceStandsThereOnce) {
  const Message m = place_.message("k");
  const Lease lease = place_.acquire(m);
  for (const char* result : {"1", "1", "2"}) keep(lease, step("first", result));
  keep(lease, step("second"));
  ASSERT_EQ(journal(m).entries.size(), 2U);
  EXPECT_EQ(journal(m).entries[0].result, "2");
}

TEST_F(RedisJournal, ManyStepsWithLargeResultsArePutBesideEachOther) {
  constexpr int kMany = 300;
  const Message m = place_.message("k");
  const Lease lease = place_.acquire(m);
  const Bytes result(4'096, '\xfe');
  for (int i = 0; i < kMany; ++i) keep(lease, step(fmt::format("s{}", i), result));
  finish(test::retrying(lease, 0ms, &m));
  place_.acquire(m);
  const StepJournal read = journal(m);
  ASSERT_EQ(read.entries.size(), static_cast<std::size_t>(kMany));
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(read.entries[static_cast<std::size_t>(i)].name, fmt::format("s{}", i));
    EXPECT_EQ(read.entries[static_cast<std::size_t>(i)].result, result);
  }
}

TEST_F(RedisJournal, VerifyTellsOfOneThatIsDamaged) {
  const Message m = place_.message("k");
  keep(place_.acquire(m), step("first"));
  EXPECT_TRUE(records().verify(true).value().empty());
  place_.server().run({"APPEND", place_.name(m), "four and no more"});
  EXPECT_EQ(steps().read(m.key().id).error().code, "R202");
  const auto findings = records().verify(true).value();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].what, "record.unreadable");
}

TEST_F(RedisJournal, AnEntryThatTooFewReplicasHaveIsInDoubt) {
  const Message m = place_.message("k");
  const Lease lease = place_.acquire(m);
  RedisOptions options = place_.options();
  options.url += "?timeout=1";
  options.wait_replicas = 1;
  const auto waiting = open_redis(options).value();
  const auto kept = waiting->facets().steps->keep(lease, step("first"));
  ASSERT_FALSE(kept.has_value());
  EXPECT_EQ(kept.error().code, "R268");
  EXPECT_EQ(kept.error().kind, ErrorKind::kInDoubt);
  EXPECT_EQ(journal(m).entries.size(), 1U) << "it stands there all the same";
}

}  // namespace
}  // namespace semel::redis
