// Generations that roll, are dropped and change their ttl while several processes claim.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <libpq-fe.h>

#include <semel/admin/records.h>
#include <semel/postgres.h>
#include <semel/spi/held_messages.h>

#include "stores/postgres/test_live_place.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::make_message;

class GenerationsLive : public LiveTest {
 protected:
  static PurgeReport purged(Store& store) {
    const auto report = store.purge(10s);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(PurgeReport{});
  }
  // A purge has sealed the old generation, and another has dropped it.
  void roll_and_drop(Store& store) {
    advance(kRoll);
    purged(store);
    advance(kTtl + 1min);
    purged(store);
    ASSERT_EQ(sql("SELECT count(*) FROM semel.semel_generation WHERE number = 1"), "0");
  }
  static void complete(Store& store, const Message& message) {
    const Claim claimed = claim(store, message);
    ASSERT_TRUE(is<Acquired>(claimed));
    ASSERT_EQ(finish(store, test::completed(std::get<Acquired>(claimed).lease)), Applied::kYes);
  }
  // For each key that is in more than one generation: in how many.
  std::string twice() const {
    return sql(
        "SELECT count(*) FROM (SELECT id FROM semel.semel_record GROUP BY id HAVING count(*) > 1) "
        "AS twice");
  }
};

TEST_F(GenerationsLive, WhoSleptThroughTheEndOfAGenerationClaimsOn) {
  const auto sleeper = open(), other = open();
  const ConsumerNumber consumer = attach(*sleeper);
  complete(*sleeper, make_message(consumer, "before"));
  attach(*other);
  roll_and_drop(*other);
  for (int i = 0; i < 2; ++i) {
    const auto key = std::to_string(i);
    EXPECT_TRUE(is<Acquired>(claim(*sleeper, make_message(consumer, "lease " + key)))) << i;
  }
}

TEST_F(GenerationsLive, AUnitOfWhoSleptIsToldToBeginAgain) {
  const auto sleeper = open(), other = open();
  const ConsumerNumber consumer = attach(*sleeper);
  complete(*sleeper, make_message(consumer, "before"));
  attach(*other);
  roll_and_drop(*other);
  const Message m = make_message(consumer, "unit");
  const Message* const one = &m;
  auto unit = sleeper->facets().transactional->begin({}).value();
  const auto refused = unit->claim({&one, 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kRetryTransaction) << refused.error().message;
  unit.reset();
  Held again = claim_in_unit(*sleeper, m);
  ASSERT_TRUE(is<Acquired>(again.claim));
  again.complete();
}

// On a borrowed connection, in transactions that its owner begins and ends.
class LentGenerationsLive : public GenerationsLive {
 protected:
  LentGenerationsLive() : connection_(PQconnectdb(url().c_str())) {
    lent_ = borrow_postgres(connection_, {"semel", true}).value();
  }
  ~LentGenerationsLive() override { PQfinish(connection_); }
  void run(const char* text) {
    PGresult* const result = PQexec(connection_, text);
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection_);
    PQclear(result);
  }
  Claim handle(const Message& message) {
    run("BEGIN");
    Held held = claim_in_unit(*lent_, message);
    const Claim claim = held.claim;
    if (is<Acquired>(claim)) held.complete();
    held.unit.reset();
    run("COMMIT");
    return claim;
  }

  PGconn* const connection_;
  std::unique_ptr<Store> lent_;
};

TEST_F(LentGenerationsLive, AGenerationThatOthersBeganIsTakenUp) {
  const ConsumerNumber consumer = attach(*lent_);
  ASSERT_TRUE(is<Acquired>(handle(make_message(consumer, "before"))));
  const auto other = open();
  attach(*other);
  roll_and_drop(*other);
  const Message after = make_message(consumer, "after");
  ASSERT_TRUE(is<Acquired>(handle(after)));
  EXPECT_TRUE(is<Completed>(claim(*other, after)));
  EXPECT_TRUE(is<Completed>(handle(after)));
}

// Both the version and the number of a generation that was undone are used again.
TEST_F(LentGenerationsLive, WhatItsOwnerHasUndoneIsNotBelieved) {
  run("BEGIN");
  const ConsumerNumber undone = attach(*lent_);
  claim_in_unit(*lent_, make_message(undone, "undone")).complete();
  run("ROLLBACK");
  attach(*open(), 4 * kTtl);
  run("BEGIN");
  const Message late = make_message(undone, "late");
  const Message* const one = &late;
  auto unit = lent_->facets().transactional->begin({}).value();
  EXPECT_FALSE(unit->claim({&one, 1}).has_value()) << "nobody attached its consumer";
  unit.reset();
  run("COMMIT");
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_record"), "0");
}

TEST_F(GenerationsLive, TwoProcessesWithDifferentTtlsMeetOverAKey) {
  const auto old = open(), young = open();
  for (const milliseconds ttl : {kTtl * 2, kTtl / 2}) {
    SCOPED_TRACE(ttl.count());
    const ConsumerNumber consumer = attach(*old);
    const std::string name = std::to_string(ttl.count());
    complete(*old, make_message(consumer, "warm " + name));
    // Deployed meanwhile, with another config.
    attach(*young, ttl);
    const Message m = make_message(consumer, "unit " + name);
    Held first = claim_in_unit(*old, m);
    ASSERT_TRUE(is<Acquired>(first.claim));
    EXPECT_TRUE(is<Busy>(claim_in_unit(*young, m, 50ms).claim)) << "acquired twice";
    EXPECT_TRUE(is<Busy>(claim(*young, m))) << "acquired twice";
    first.complete();
    EXPECT_TRUE(is<Completed>(claim(*young, m)));
  }
  EXPECT_EQ(twice(), "0");
}

TEST_F(GenerationsLive, AUnitThatIsOpenWhileTheTtlChangesIsMet) {
  const auto old = open(), young = open();
  const ConsumerNumber consumer = attach(*old);
  const Message m = make_message(consumer, "k");
  Held first = claim_in_unit(*old, m);
  ASSERT_TRUE(is<Acquired>(first.claim));
  auto second = std::async(std::launch::async, [&] {
    attach(*young, kTtl * 2);
    return claim(*young, m);
  });
  EXPECT_TRUE(test::comes_true([&] {
    return sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") != "0";
  })) << "it does not wait for the first";
  first.complete();
  EXPECT_TRUE(is<Completed>(second.get()));
  EXPECT_EQ(twice(), "0");
}

// Otherwise a claim meets a ttl for which no generation takes records.
TEST_F(GenerationsLive, ATtlAndItsGenerationAreCommittedTogether) {
  const auto store = open();
  attach(*store);
  OtherSession other(url());
  other.run("BEGIN");
  other.run("LOCK TABLE semel.semel_generation IN SHARE MODE");
  auto changed = std::async(std::launch::async, [&] { attach(*store, kTtl / 2); });
  EXPECT_TRUE(test::comes_true([&] { return server_.lock_waiters(database_) > 0; }));
  EXPECT_EQ(sql("SELECT ttl FROM semel.semel_consumer"), std::to_string(kTtl.count()));
  other.run("COMMIT");
  changed.get();
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_consumer AS c JOIN semel.semel_generation AS g "
                "ON g.ttl = c.ttl AND g.state = 'active'"),
            "1");
  EXPECT_EQ(sql("SELECT ttl FROM semel.semel_consumer"), std::to_string((kTtl / 2).count()));
}

TEST_F(GenerationsLive, ManyMayAttachAtOnce) {
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 4; ++i) stores.push_back(open());
  for (int round = 1; round <= 5; ++round) {
    std::vector<std::jthread> threads;
    for (auto& store : stores) {
      threads.emplace_back([&, at = stores.size() + threads.size() % 2] {
        const ConsumerSpec spec{fmt::format("{}", round), "recipe", false, kTtl * at * round};
        const auto number = store->attach(spec);
        EXPECT_TRUE(number.has_value()) << number.error().message;
      });
    }
  }
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_consumer AS c JOIN semel.semel_generation AS g "
                "ON g.ttl = c.ttl AND g.state = 'active'"),
            "5");
  EXPECT_EQ(sql("SELECT max(n) FROM (SELECT count(*) AS n FROM semel.semel_generation "
                "WHERE state = 'active' GROUP BY ttl) AS same"),
            "1");
}

// With the rights that docs/stores/postgres.md lists, which are not enough to make tables.
class WorkerGenerationsLive : public GenerationsLive {
 protected:
  WorkerGenerationsLive() : owner_(open()) {
    attach(*owner_);
    sql(
        fmt::format("CREATE USER {0}; GRANT USAGE ON SCHEMA semel TO {0}; "
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA semel TO {0}; "
                    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA semel TO {0}",
                    user_));
  }
  ~WorkerGenerationsLive() override {
    workers_.clear();
    sql(fmt::format("DROP OWNED BY {0}; DROP USER {0}", user_));
  }
  Store& worker() {
    PostgresOptions options;
    options.url = fmt::format("postgresql://{}@127.0.0.1:{}/{}", user_, server_.port(), database_);
    options.create = false;
    workers_.push_back(open_postgres(std::move(options)).value());
    return *workers_.back();
  }

  const std::unique_ptr<Store> owner_;
  const std::string user_ = database_ + "_worker";
  std::vector<std::unique_ptr<Store>> workers_;
};

TEST_F(WorkerGenerationsLive, AStartThatIsRefusedChangesNothing) {
  Store& running = worker();
  const ConsumerNumber consumer = attach(running);
  ASSERT_TRUE(is<Acquired>(claim(running, make_message(consumer, "before"))));
  const std::string before = sql("TABLE semel.semel_consumer");
  for (const ConsumerSpec& spec : {ConsumerSpec{"payments", "recipe", false, kTtl / 2},
                                   ConsumerSpec{"payments", "recipe", false, kTtl * 2},
                                   ConsumerSpec{"payments", "other", true, kTtl / 2},
                                   ConsumerSpec{"added", "recipe", false, kTtl / 2}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", spec.name, spec.recipe_hash, spec.ttl->count()));
    const auto refused = worker().attach(spec);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, "R253") << refused.error().message;
    EXPECT_EQ(sql("TABLE semel.semel_consumer"), before);
    const Message message = make_message(consumer, "after " + std::to_string(workers_.size()));
    EXPECT_TRUE(is<Acquired>(claim(running, message)));
  }
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_generation"), "1");
  // With a ttl that has a generation it may change both.
  EXPECT_TRUE(worker().attach({"added", "recipe", false, kTtl}).has_value());
}

TEST_F(GenerationsLive, SeveralPurgesAtOnceDoNotMeet) {
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 4; ++i) stores.push_back(open());
  const ConsumerNumber consumer = attach(*stores[0]);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(round) + "-" + std::to_string(i);
      complete(*stores[0], make_message(consumer, key));
    }
    advance(round % 2 == 0 ? kRoll : kTtl + kRoll);
    std::vector<std::jthread> threads;
    for (auto& store : stores) threads.emplace_back([&] { purged(*store); });
  }
  EXPECT_EQ(twice(), "0");
}

// Every claim uses all generations; dropping one must succeed nevertheless.
TEST_F(GenerationsLive, AGenerationGoesWhileManyClaim) {
  const auto store = open(), purging = open();
  const ConsumerNumber consumer = attach(*store);
  complete(*store, make_message(consumer, "old"));
  attach(*purging);
  advance(kRoll);
  purged(*purging);
  advance(kTtl + 1min);
  std::atomic<bool> ended = false;
  std::atomic<int> claims = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; !ended; ++i) {
          const std::string key = std::to_string(t) + "-" + std::to_string(i);
          const Message m = make_message(consumer, key);
          const Message* const one = &m;
          auto unit = store->facets().transactional->begin({}).value();
          auto claimed = unit->claim({&one, 1});
          std::this_thread::sleep_for(5ms);
          if (claimed) ++claims;
        }
      });
    }
    while (claims < 20) std::this_thread::sleep_for(1ms);
    bool gone = false;
    for (int i = 0; i < 5 && !gone; ++i) {
      if (i > 0) advance(1h);  // after it was in use, a purge pauses for a while
      purged(*purging);
      gone = sql("SELECT count(*) FROM semel.semel_generation WHERE number = 1") == "0";
    }
    EXPECT_TRUE(gone) << "what is past its ttl is never forgotten where there is much to do";
    ended = true;
  }
}

// A dead letter as old as its generation is replayed and done while that is being searched.
TEST_F(GenerationsLive, WhatIsReplayedWhileItsGenerationGoesStays) {
  const auto store = open(), purging = open();
  const ConsumerNumber consumer = attach(*store);
  const Message dead = make_message(consumer, "dead");
  const Message late = make_message(consumer, "late");
  ASSERT_TRUE(is<Acquired>(claim(*store, late)));  // never finished: it must be moved
  ASSERT_EQ(finish(*store, test::dead(std::get<Acquired>(claim(*store, dead)).lease, &dead)),
            Applied::kYes);
  attach(*purging);
  advance(kRoll);
  purged(*purging);
  advance(kTtl + 1min);

  OtherSession other(url());
  other.run("BEGIN");
  other.run("SELECT 1 FROM semel.semel_record WHERE message_key = 'late' FOR UPDATE");
  auto purge = std::async(std::launch::async, [&] { purged(*purging); });
  while (sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
             "wait_event_type = 'Lock'") == "0") {
    std::this_thread::sleep_for(2ms);
  }
  const auto letters = store->facets().dead_letters->list({}).value();
  ASSERT_EQ(letters.size(), 1U);
  const std::int64_t id = letters[0].id;
  EXPECT_EQ(store->facets().dead_letters->replay({&id, 1}).value().replayed, 1U);
  const Claim again = claim(*store, dead);
  ASSERT_TRUE(is<Acquired>(again));
  ASSERT_EQ(finish(*store, test::completed(std::get<Acquired>(again).lease)), Applied::kYes);
  other.run("COMMIT");
  purge.get();
  EXPECT_TRUE(is<Completed>(claim(*store, dead))) << "done a moment ago, and forgotten";
  EXPECT_TRUE(is<Busy>(claim(*store, late)));
  EXPECT_EQ(twice(), "0");
}

}  // namespace
}  // namespace semel::postgres
