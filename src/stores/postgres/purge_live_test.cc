// A purge together with others: long readers, a ttl that changes, renewals of records that it
// moves.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>

#include <fmt/format.h>

#include <semel/spi/step_store.h>

#include "stores/postgres/test_live_place.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::make_message;

// Time passes at each look: so a budget allows the same work on any machine.
class SteppingClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() noexcept override {
    return std::chrono::steady_clock::time_point(1h + kStep * ++looks_);
  }
  static constexpr milliseconds kStep{1};

 private:
  std::atomic<int> looks_{0};
};

class PurgeLive : public LiveTest {
 protected:
  static PurgeReport purged(Store& store, milliseconds budget = 10s) {
    const auto report = store.purge(budget);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(PurgeReport{});
  }
  static Lease acquire(Store& store, const Message& message) {
    return std::get<Acquired>(claim(store, message)).lease;
  }
  static void complete(Store& store, const Message& message) {
    ASSERT_EQ(finish(store, test::completed(acquire(store, message))), Applied::kYes);
  }
  // The first generation is sealed, and everything completed in it is past its ttl.
  void make_past(Store& store) {
    advance(kRoll);
    purged(store);
    advance(kTtl + 1min);
  }
  // In the same generation as "old", which is completed.
  void add_unfinished(int count) const {
    sql("INSERT INTO semel.semel_record (id, generation, state, fingerprint, changed_at, token, "
        "nonce, "
        "lease_until, attempt, outcome_unknown, first_seen) SELECT substr(r.id, 1, 4) || "
        "decode(lpad(to_hex(n), 32, '0'), 'hex'), r.generation, 'consuming', r.fingerprint, "
        "r.changed_at, n, decode(lpad(to_hex(n), 32, '0'), 'hex'), r.changed_at, 1, false, "
        "r.changed_at FROM semel.semel_record AS r, generate_series(1, " +
        std::to_string(count) + ") AS n");
  }
  std::string generations() const {
    return sql("SELECT string_agg(number::text, ',' ORDER BY number) FROM semel.semel_generation");
  }
  // False if `waits`, which is to wait for a lock too, neither does nor ends. A purge waits for a
  // moment only, which may be over before it is seen.
  template <class T>
  bool wait_for_waiters(int count, const std::future<T>& waits) const {
    return test::comes_true([&] {
      return server_.lock_waiters(database_) == count ||
             waits.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
  }
};

TEST_F(PurgeLive, ALongLookHoldsUpNobodyAgainAndAgain) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  complete(*store, make_message(consumer, "old"));
  const Message dead = make_message(consumer, "dead");
  ASSERT_EQ(finish(*store, test::dead(acquire(*store, dead), &dead)), Applied::kYes);
  make_past(*store);
  const std::string before = generations();

  OtherSession backup(url());
  backup.run("BEGIN; SELECT count(*) FROM semel.semel_record");
  const PurgeReport report = purged(*store);
  EXPECT_FALSE(report.more) << "it would come back at the next turn, and stop all claims again";
  EXPECT_EQ(report.records, 1U) << "what is dead can go all the same";
  EXPECT_EQ(generations(), before);
  backup.run("COMMIT");
  EXPECT_EQ(purged(*store).records, 0U) << "it is left alone for a while";
  EXPECT_EQ(generations(), before);
  advance(1min);
  EXPECT_EQ(purged(*store).records, 1U);
  EXPECT_NE(generations(), before);
}

TEST_F(PurgeLive, ADeadRecordWithStepsOutlivesItsGeneration) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  complete(*store, make_message(consumer, "old"));
  const Message dead = make_message(consumer, "dead");
  const Lease lease = acquire(*store, dead);
  StepEntry step;
  step.name = "lock_stock";
  ASSERT_EQ(store->facets().steps->keep(lease, step).value(), Applied::kYes);
  ASSERT_EQ(finish(*store, test::dead(lease, &dead)), Applied::kYes);
  make_past(*store);
  const std::string before = generations();
  EXPECT_EQ(purged(*store).records, 1U);
  EXPECT_NE(generations(), before);
  EXPECT_EQ(store->facets().steps->read(dead.key().id).value().entries.size(), 1U);
  const auto letters = store->facets().dead_letters->list({}).value();
  ASSERT_EQ(letters.size(), 1U);
  ASSERT_EQ(store->facets().dead_letters->discard({&letters[0].id, 1}).value(), 1U);
  EXPECT_EQ(purged(*store).records, 1U);
  EXPECT_TRUE(store->facets().steps->read(dead.key().id).value().entries.empty());
}

TEST_F(PurgeLive, ATtlThatGrowsMeanwhileIsKept) {
  const auto store = open(), other = open(60s), purging = open(60s);
  const ConsumerNumber consumer = attach(*store);
  const Message done = make_message(consumer, "done");
  const Message late = make_message(consumer, "late");
  complete(*store, done);
  acquire(*store, late);  // never finished: it must be moved
  attach(*purging);
  make_past(*purging);

  OtherSession holder(url());
  holder.run("BEGIN");
  holder.run("SELECT 1 FROM semel.semel_record WHERE message_key = 'late' FOR UPDATE");
  auto purge = std::async(std::launch::async, [&] { return purged(*purging).records; });
  ASSERT_TRUE(wait_for_waiters(1, purge));
  auto change = std::async(std::launch::async, [&] { attach(*other, kTtl * 10); });
  ASSERT_TRUE(wait_for_waiters(2, change));
  holder.run("COMMIT");
  change.get();
  EXPECT_EQ(purge.get(), 0U);
  EXPECT_TRUE(is<Completed>(claim(*store, done))) << "its ttl was longer before it was forgotten";
}

// The generation is past the new ttl too, but not the records finished long after it was sealed.
TEST_F(PurgeLive, WhatALittleLongerTtlKeepsIsKept) {
  const auto store = open(), other = open(60s), purging = open(60s);
  const ConsumerNumber consumer = attach(*store);
  const Message late = make_message(consumer, "late");
  const Lease lease = acquire(*store, late);
  acquire(*store, make_message(consumer, "open"));  // never finished: it must be moved
  attach(*purging);
  advance(kRoll);
  purged(*purging);
  advance(kTtl / 2);
  ASSERT_EQ(finish(*store, test::completed(lease)), Applied::kYes);
  advance(kTtl + kTtl / 4);

  OtherSession holder(url());
  holder.run("BEGIN");
  holder.run("SELECT 1 FROM semel.semel_record WHERE message_key = 'open' FOR UPDATE");
  auto purge = std::async(std::launch::async, [&] { return purged(*purging).records; });
  ASSERT_TRUE(wait_for_waiters(1, purge));
  auto change = std::async(std::launch::async, [&] { attach(*other, kTtl + kTtl / 2); });
  ASSERT_TRUE(wait_for_waiters(2, change));
  holder.run("COMMIT");
  change.get();
  EXPECT_EQ(purge.get(), 0U);
  EXPECT_TRUE(is<Completed>(claim(*store, late)));
  EXPECT_EQ(purged(*purging).records, 0U);
  EXPECT_TRUE(is<Completed>(claim(*store, late)));
}

TEST_F(PurgeLive, WhatIsNotPastMovesInSmallParts) {
  SteppingClock clock;
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  complete(*store, make_message(consumer, "old"));
  add_unfinished(1200);
  make_past(*store);
  environment_.clock = &clock;
  const auto purging = open();
  const std::string open_in_old =
      "SELECT count(*) FROM semel.semel_record_1 WHERE state = 'consuming'";
  const std::string open_in_all =
      "SELECT count(*) FROM semel.semel_record WHERE state = 'consuming'";
  ASSERT_EQ(sql(open_in_old), "1200");
  EXPECT_TRUE(purged(*purging, 4 * SteppingClock::kStep).more);
  const int left = std::stoi(sql(open_in_old));
  EXPECT_GT(left, 0) << "all of them in one transaction";
  EXPECT_LT(left, 1200) << "no part of them";
  EXPECT_EQ(sql(open_in_all), "1200");
  EXPECT_EQ(purged(*purging).records, 1U);
  EXPECT_EQ(sql(open_in_all), "1200");
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_generation WHERE number = 1"), "0");
}

TEST_F(PurgeLive, WhatIsBegunGoesOnBesideALongLook) {
  SteppingClock clock;
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  complete(*store, make_message(consumer, "old"));
  add_unfinished(4000);
  make_past(*store);
  environment_.clock = &clock;
  const auto purging = open();
  const auto left = [&] {
    return std::stoi(sql("SELECT count(*) FROM semel.semel_record_1 WHERE state = 'consuming'"));
  };
  EXPECT_TRUE(purged(*purging, 4 * SteppingClock::kStep).more);
  const int begun = left();
  ASSERT_LT(begun, 4000);
  OtherSession backup(url());
  backup.run("BEGIN; SELECT count(*) FROM semel.semel_record");
  EXPECT_TRUE(purged(*purging, 4 * SteppingClock::kStep).more);
  EXPECT_LT(left(), begun) << "it asked again for what all others wait behind";
  EXPECT_GT(left(), 0);
}

TEST_F(PurgeLive, AnInboxGoesPartByPartHoweverLittleTimeThereIs) {
  SteppingClock clock;
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  complete(*store, make_message(consumer, "old"));
  add_unfinished(1200);
  sql("UPDATE semel.semel_record SET inbox = nextval('semel.semel_inbox_number'), "
      "state = 'completed'");
  sql("INSERT INTO semel.semel_inbox (row_id, consumer, received_at) SELECT inbox, 1, "
      "clock_timestamp() FROM semel.semel_record");
  make_past(*store);
  environment_.clock = &clock;
  const auto purging = open();
  const auto left = [&] { return std::stoi(sql("SELECT count(*) FROM semel.semel_inbox")); };
  ASSERT_EQ(left(), 1201);
  EXPECT_TRUE(purged(*purging, 4 * SteppingClock::kStep).more);
  EXPECT_EQ(left(), 701);
}

// As a purge moves it: from one generation to another, in one transaction.
TEST_F(PurgeLive, WhatItMovesIsStillHeld) {
  const auto store = open(60s);
  const ConsumerNumber consumer = attach(*store);
  const Message held = make_message(consumer, "held");
  const Lease lease = acquire(*store, held);
  advance(kRoll);
  purged(*store);
  const auto moved = [&](int from, int to, const std::function<Applied()>& act) {
    const std::string columns =
        "id, state, fingerprint, changed_at, token, nonce, lease_until, attempt, outcome_unknown, "
        "first_seen, holder, message_key";
    OtherSession mover(url());
    mover.run("BEGIN");
    mover.run("WITH gone AS (DELETE FROM semel.semel_record_" + std::to_string(from) +
              " RETURNING " + columns + ") INSERT INTO semel.semel_record (generation, " + columns +
              ") SELECT " + std::to_string(to) + ", " + columns + " FROM gone");
    auto acting = std::async(std::launch::async, act);
    EXPECT_TRUE(wait_for_waiters(1, acting));
    mover.run("COMMIT");
    return acting.get();
  };
  EXPECT_EQ(moved(1, 2,
                  [&] {
                    return store->renew({&lease, 1}, kLease).value().at(0);
                  }),
            Applied::kYes);
  EXPECT_EQ(moved(2, 1,
                  [&] {
                    const auto unit = store->facets().transactional->begin({}).value();
                    return unit->confirm({&lease, 1}).value().at(0);
                  }),
            Applied::kYes);
  StepEntry step;
  step.name = "reserve";
  EXPECT_EQ(moved(1, 2, [&] { return store->facets().steps->keep(lease, step).value(); }),
            Applied::kYes);
  EXPECT_EQ(moved(2, 1, [&] { return finish(*store, test::completed(lease)); }), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim(*store, held)));
}

TEST_F(PurgeLive, JournalsThatNobodyNeedsGoWithinItsTime) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  const Message message = make_message(consumer, "steps");
  const Lease lease = acquire(*store, message);
  StepEntry step;
  step.name = "reserve";
  ASSERT_EQ(store->facets().steps->keep(lease, step).value(), Applied::kYes);
  ASSERT_EQ(finish(*store, test::completed(lease)), Applied::kYes);
  const std::string count = "SELECT count(*) FROM semel.semel_step";
  ASSERT_EQ(sql(count), "1");
  EXPECT_TRUE(purged(*store, 0ms).more);
  EXPECT_EQ(sql(count), "1") << "its time was over";
  purged(*store);
  EXPECT_EQ(sql(count), "0");
}

// Journals of 1,500 records that are completed (n % 3 = 0), gone (1) or being worked on (2), and a
// purge that looks at a few hundred of them in each turn.
class JournalPurge : public PurgeLive {
 protected:
  void SetUp() override {
    store_ = open();
    const ConsumerNumber consumer = attach(*store_);
    complete(*store_, make_message(consumer, "old"));
    const Message dead = make_message(consumer, "dead");
    const std::string id = "substr(r.id, 1, 4) || decode(lpad(to_hex(n), 32, '0'), 'hex')";
    sql("INSERT INTO semel.semel_record (id, generation, state, fingerprint, changed_at, token, "
        "nonce, lease_until, attempt, outcome_unknown, first_seen) SELECT " +
        id +
        ", r.generation, "
        "(CASE n % 3 WHEN 0 THEN 'completed' ELSE 'consuming' END)::semel.semel_state, "
        "r.fingerprint, r.changed_at, n, decode(lpad(to_hex(n), 32, '0'), 'hex'), r.changed_at, 1, "
        "false, r.changed_at FROM semel.semel_record AS r, generate_series(1, 1500) AS n "
        "WHERE n % 3 <> 1");
    ASSERT_EQ(finish(*store_, test::dead(acquire(*store_, dead), &dead)), Applied::kYes);
    sql("INSERT INTO semel.semel_step (record, name, business, state, place, round, attempts, "
        "tries, kept_at) SELECT " +
        id +
        ", name::bytea, '', 'done', 1, 0, 0, 0, r.changed_at FROM "
        "(SELECT * FROM semel.semel_record WHERE state = 'completed' ORDER BY id DESC LIMIT 1) AS "
        "r, generate_series(1, 1500) AS n, (VALUES ('a'), ('b')) AS names(name)");
  }
  std::string journals(const std::string& which = "TRUE") const {
    return sql(
        "SELECT count(DISTINCT record) FROM semel.semel_step WHERE "
        "get_byte(record, 19) + 256 * get_byte(record, 18) IN (SELECT n FROM "
        "generate_series(1, 1500) AS n WHERE " +
        which + ")");
  }

  std::unique_ptr<Store> store_;
};

TEST_F(JournalPurge, CostsAFewRoundTripsForHundredsOfThem) {
  test::TcpProxy proxy(server_.port());
  PostgresOptions options;
  options.url = fmt::format("postgresql://postgres@127.0.0.1:{}/{}", proxy.port(), database_);
  const auto store = open_postgres(std::move(options)).value();
  purged(*store);
  EXPECT_EQ(journals(), "500");
  const std::size_t before = proxy.round_trips();
  EXPECT_GT(before, 0U);
  EXPECT_LT(before, 60U) << "each turn looks, and removes";
  EXPECT_EQ(journals("n % 3 = 2"), "500") << "those that are being worked on";
}

// A record that comes again meanwhile, and keeps a step of its own, begins no work anew.
TEST_F(JournalPurge, AStepOfARecordThatComesAgainStays) {
  OtherSession again(url());
  again.run("BEGIN");
  again.run(
      "CREATE TEMPORARY TABLE mine ON COMMIT DROP AS SELECT record FROM semel.semel_step "
      "WHERE get_byte(record, 19) = 1 AND get_byte(record, 18) = 0 LIMIT 1");
  again.run(
      "INSERT INTO semel.semel_record (id, generation, state, fingerprint, changed_at, token, "
      "nonce, lease_until, attempt, outcome_unknown, first_seen) SELECT mine.record, "
      "r.generation, r.state, r.fingerprint, r.changed_at, r.token, r.nonce, r.lease_until, "
      "1, false, r.changed_at FROM mine, (SELECT * FROM semel.semel_record WHERE state = "
      "'consuming' LIMIT 1) AS r");
  again.run("DELETE FROM semel.semel_step WHERE record IN (SELECT record FROM mine)");
  again.run(
      "INSERT INTO semel.semel_step (record, name, business, state, place, round, attempts, "
      "tries, kept_at) SELECT record, 'a', '', 'done', 1, 0, 0, 0, now() FROM mine");
  auto purging = std::async(std::launch::async, [&] { return purged(*store_); });
  EXPECT_TRUE(wait_for_waiters(1, purging));
  again.run("COMMIT");
  purging.get();
  EXPECT_EQ(journals("n = 1"), "1") << "the new one";
  EXPECT_EQ(journals(), "501");
}

// However many are in use, a purge takes no longer than it may.
TEST_F(JournalPurge, EndsItsTurnWhereAllAreInUse) {
  sql("DELETE FROM semel.semel_step WHERE record NOT IN (SELECT id FROM semel.semel_record WHERE "
      "state = 'consuming')");
  ASSERT_EQ(journals(), "500") << "a whole page";
  store_.reset();
  SteppingClock stepping;
  environment_.clock = &stepping;
  const auto store = open();
  EXPECT_TRUE(purged(*store, 3 * SteppingClock::kStep).more);
  EXPECT_TRUE(test::comes_true([&] { return !purged(*store, 3 * SteppingClock::kStep).more; }));
  EXPECT_EQ(journals(), "500");
}

// A budget of one turn: each call goes on where the last one stopped.
TEST_F(JournalPurge, GoesOnWhereItStoppedAndForgetsNoRecordBefore) {
  store_.reset();
  SteppingClock stepping;
  environment_.clock = &stepping;
  const auto store = open();
  advance(kTtl + 1min);
  std::size_t turns = 0, forgotten = 0;
  for (bool more = true; more && turns < 100; ++turns) {
    const bool whole = journals("n % 3 <> 2") == "0";
    const PurgeReport report = purged(*store, 3 * SteppingClock::kStep);
    EXPECT_TRUE(whole || report.records == 0) << "a journal is left: " << turns;
    forgotten += report.records;
    more = report.more || forgotten == 0;
  }
  EXPECT_GT(turns, 3U) << "one turn did it all";
  EXPECT_EQ(journals(), "500");
  EXPECT_EQ(forgotten, 1U) << "the dead one";
}

}  // namespace
}  // namespace semel::postgres
