// pessimistic_lock and optimistic_lock: one effect for a business row, whatever the messages' keys.
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <semel/reason.h>

#include "core/verdict_details.h"
#include "tests/conformance/strategy/row_guard_suite.h"

namespace semel::conformance {
namespace {

using Kind = Outcome::Kind;

TEST_P(PessimisticLockSuite, ARowThatIsDoneMakesADuplicateOfAnyKey) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 0, 0)");
  const auto strategy = guarded(*store_, work());
  EXPECT_EQ(last(one(*strategy, about("a")), "a").kind, Kind::kDone);
  for (const char* key : {"b", "b", "a"}) {
    const Outcome outcome = last(one(*strategy, about(key)), key);
    EXPECT_EQ(outcome.kind, Kind::kDuplicate) << key;
    EXPECT_EQ(outcome.settle, Outcome::Settle::kAck) << key;
  }
  EXPECT_EQ(changes(), 1);
  EXPECT_EQ(effects(), 1);
  EXPECT_EQ(inner_->facets().held->depth(consumer_)->rows, 0U);
  EXPECT_TRUE(dead_letters().empty());
}

TEST_P(PessimisticLockSuite, ABatchAboutOneRowHasOneEffect) {
  const auto strategy = guarded(*store_, inserting());
  std::vector<core::TrackedDelivery> batch;
  for (int i = 0; i < 20; ++i) batch.push_back(about("k" + std::to_string(i), 1, i % 4));
  const Outcomes outcomes = process(*strategy, std::move(batch));
  EXPECT_EQ(count(outcomes, Kind::kDone), 4U);
  EXPECT_EQ(count(outcomes, Kind::kDuplicate), 16U);
  EXPECT_EQ(changes(), 4);
  EXPECT_EQ(effects(), 4);
}

TEST_P(PessimisticLockSuite, AStormOfDuplicates) {
  const auto strategy = guarded(*store_, inserting());
  const auto storm = [&](const std::string& prefix) {
    std::vector<core::TrackedDelivery> batch;
    for (int i = 0; i < 100; ++i) batch.push_back(about(prefix + std::to_string(i), 1, i));
    return batch;
  };
  EXPECT_EQ(count(process(*strategy, storm("a")), Kind::kDone), 100U);
  EXPECT_EQ(count(process(*strategy, storm("b")), Kind::kDuplicate), 100U);
  EXPECT_EQ(changes(), 100);
}

TEST_P(PessimisticLockSuite, NullIsNotDone) {
  place_->sql("INSERT INTO orders VALUES (1, NULL, 0, 0)");
  const auto strategy = guarded(*store_, work());
  EXPECT_EQ(last(one(*strategy, about("a")), "a").kind, Kind::kDone);
  EXPECT_EQ(changes(), 1);
}

TEST_P(PessimisticLockSuite, OneWhoWaitsForTheRowSeesItDone) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 0, 0)");
  auto unit = changing("holder", "UPDATE orders SET status = 'PAID' WHERE id = 1");
  const auto strategy = guarded(*inner_, work());
  std::atomic<bool> over = false;
  auto waiting = std::async(std::launch::async, [&] {
    const Outcomes outcomes = one(*strategy, about("b"));
    EXPECT_TRUE(over) << "it must wait for the row";
    return last(outcomes, "b").kind;
  });
  EXPECT_TRUE(somebody_waits());
  over = true;
  commit(std::move(unit));
  EXPECT_EQ(waiting.get(), Kind::kDuplicate);
  EXPECT_EQ(changes(), 0);
}

// Two keys, and a row that is not there yet: no row lock keeps them apart.
TEST_P(PessimisticLockSuite, RaceToMakeTheRowIsSeenByTheSecond) {
  std::promise<void> looked;
  std::promise<void> may_end;
  const auto first = guarded(*inner_, [&](const Message& message, Transaction& tx) {
    tx.query("SELECT 1");  // what the guard recorded is sent: it has found no row
    looked.set_value();
    may_end.get_future().wait();
    return inserting()(message, tx);
  });
  const auto second = guarded(*other_, inserting());
  auto ending = std::async(std::launch::async, [&] { return one(*first, about("a")); });
  looked.get_future().wait();
  std::atomic<bool> over = false;
  auto waiting = std::async(std::launch::async, [&] {
    const Outcomes outcomes = one(*second, about("b"));
    EXPECT_TRUE(over) << "it must wait for what makes the row";
    return last(outcomes, "b").kind;
  });
  EXPECT_TRUE(somebody_waits());
  over = true;
  may_end.set_value();
  EXPECT_EQ(last(ending.get(), "a").kind, Kind::kDone);
  EXPECT_EQ(waiting.get(), Kind::kDuplicate);
  EXPECT_EQ(changes(), 1);
  EXPECT_EQ(effects(), 1);
}

TEST_P(PessimisticLockSuite, RaceMakesEachRowOnce) {
  constexpr int kRows = 40;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const auto strategy = guarded(t == 0 ? *inner_ : *other_, inserting());
      for (int id = 0; id < kRows; id += 8) {
        std::vector<core::TrackedDelivery> batch;
        for (int i = 0; i < 8; ++i) {
          const int at = t == 1 ? id + 7 - i : id + i;
          batch.push_back(about(fmt::format("{}-{}", t, at), 1, at));
        }
        deliver(*strategy, std::move(batch));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(changes(), kRows);
  EXPECT_EQ(effects(), kRows);
  EXPECT_TRUE(dead_letters().empty());
}

TEST_P(OptimisticLockSuite, EachVersionOnceInWhateverOrderTheyCome) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 1, 0)");
  const auto strategy = guarded(*store_, work());
  const Outcome early = last(one(*strategy, about("second", 2)), "second");
  EXPECT_EQ(early.kind, Kind::kRetry);
  EXPECT_EQ(early.reason, reason::kVersionEarly);
  EXPECT_EQ(last(one(*strategy, about("first", 1)), "first").kind, Kind::kDone);
  EXPECT_EQ(last(deliver_held(*strategy), "second").kind, Kind::kDone);
  EXPECT_EQ(last(one(*strategy, about("first again", 1)), "first again").kind, Kind::kDuplicate);
  EXPECT_EQ(place_->sql("SELECT version FROM orders"), 3);
  EXPECT_EQ(changes(), 2);
  EXPECT_EQ(effects(), 2);
}

TEST_P(OptimisticLockSuite, OneBatchMayHoldThemAll) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 1, 0)");
  const auto strategy = guarded(*store_, work());
  std::vector<core::TrackedDelivery> batch;
  for (const int version : {1, 2, 1, 4, 3, 9}) {
    batch.push_back(about(fmt::format("k{}-{}", batch.size(), version), version));
  }
  const Outcomes outcomes = process(*strategy, std::move(batch));
  EXPECT_EQ(count(outcomes, Kind::kDuplicate), 1U) << "1 again";
  EXPECT_EQ(count(outcomes, Kind::kDone), 4U) << "3 runs before 4";
  const Outcomes later = deliver_held(*strategy);
  EXPECT_EQ(count(later, Kind::kDead), 1U) << "version 9 is never reached";
  EXPECT_EQ(changes(), 4);
  EXPECT_EQ(effects(), 4);
}

// Their rows are locked in the order of the accounts, which is another one.
TEST_P(OptimisticLockSuite, TheVersionsOfARowComeInTheirOrderWhateverElseIsShared) {
  constexpr int kOrders = 4;
  constexpr int kVersions = 10;
  place_->sql("CREATE TABLE account (id BIGINT, n BIGINT)");
  for (int id = 0; id < kOrders; ++id) {
    place_->sql(fmt::format("INSERT INTO orders VALUES ({}, 'NEW', 1, 0)", id));
    place_->sql(fmt::format("INSERT INTO account VALUES ({}, 0)", id));
  }
  const auto strategy = guarded(*store_, [](const Message& message, Transaction& tx) {
    const std::int64_t number = std::stoll(message.key().text);
    const std::int64_t id = number % kOrders;
    const std::int64_t version = 1 + number / kOrders;
    tx.exec("UPDATE orders SET version = ?, n = n + 1 WHERE id = ? AND version = ?", version + 1,
            id, version);
    tx.exec("UPDATE account SET n = n + 1 WHERE id = ?", number * 7 % 3);
    return done();
  });
  std::vector<core::TrackedDelivery> batch;
  for (int i = 0; i < kOrders * kVersions; ++i) {
    batch.push_back(about(std::to_string(i), 1 + i / kOrders, i % kOrders));
  }
  const Outcomes outcomes = process(*strategy, std::move(batch));
  EXPECT_EQ(count(outcomes, Kind::kDone), std::size_t{kOrders * kVersions});
  EXPECT_EQ(changes(), kOrders * kVersions);
}

TEST_P(OptimisticLockSuite, AVersionThatWaitsForOneBeforeItHasHadNoTry) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 1, 0)");
  std::atomic<int> tries = 0;
  const auto strategy = guarded(*store_, [&](const Message& message, Transaction& tx) {
    if (message.key().text == "second") {
      ++tries;
    } else if (tries < 3 * kAttempts) {
      Verdict again = retry("not yet", std::chrono::milliseconds(1));
      core::set_counted(again, false);
      return again;
    }
    return change(message, tx);
  });
  std::vector<core::TrackedDelivery> batch;
  batch.push_back(about("second", 2));
  batch.push_back(about("first", 1));
  Outcomes outcomes = process(*strategy, std::move(batch));
  outcomes.merge(deliver_held(*strategy));
  EXPECT_GE(tries, 3 * kAttempts);
  EXPECT_EQ(last(outcomes, "first").kind, Kind::kDone);
  EXPECT_EQ(last(outcomes, "second").kind, Kind::kDone);
  EXPECT_EQ(changes(), 2);
}

TEST_P(OptimisticLockSuite, RaceForOneVersionHasOneWinner) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 1, 0)");
  auto unit = changing("neighbour", "UPDATE orders SET version = 2, n = 1 WHERE id = 1");
  std::promise<void> begun;
  std::once_flag told;
  const auto strategy =
      guarded(*inner_, [&, write = work()](const Message& message, Transaction& tx) {
        std::call_once(told, [&] { begun.set_value(); });
        return write(message, tx);
      });
  // Its guard reads version 1, which is committed still, and its write waits for the row.
  auto ending = std::async(std::launch::async, [&] { return one(*strategy, about("late", 1)); });
  if (!inner_->traits().single_writer) {
    EXPECT_EQ(begun.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_TRUE(somebody_waits());
  }
  commit(std::move(unit));
  const Outcome late = last(ending.get(), "late");
  if (inner_->traits().single_writer) {
    EXPECT_EQ(late.kind, Kind::kDuplicate) << "it waited before its guard";
  } else {
    EXPECT_EQ(late.kind, Kind::kRetry);
    EXPECT_EQ(late.reason, reason::kVersionLost);
    EXPECT_EQ(last(deliver_held(*strategy), "late").kind, Kind::kDuplicate);
  }
  EXPECT_EQ(changes(), 1);
  EXPECT_EQ(effects(), 0) << "what it wrote beside is undone";
}

TEST_P(OptimisticLockSuite, RaceChangesEachVersionOnce) {
  constexpr int kVersions = 12;
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 1, 0)");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const auto strategy =
          guarded(t == 0 ? *inner_ : *other_, [](const Message& message, Transaction& tx) {
            const std::int64_t version = std::stoll(message.key().text);
            tx.exec("UPDATE orders SET n = n + 1, version = ? WHERE id = 1 AND version = ?",
                    version + 1, version);
            return done();
          });
      for (int version = 1; version <= kVersions; ++version) {
        one(*strategy, about(fmt::format("{}-{}", version, t), version));
      }
      deliver_held(*strategy);
    });
  }
  threads.clear();
  EXPECT_EQ(place_->sql("SELECT version FROM orders"), kVersions + 1);
  EXPECT_EQ(changes(), kVersions);
}

TEST_P(OptimisticLockSuite, NoRowIsWhatTheConfigSays) {
  using Missing = core::VersionSpec::Missing;
  const auto ended = [&](Missing missing, const std::string& key) {
    const auto strategy = guarded(*store_, work(), missing);
    return last(one(*strategy, about(key)), key);
  };
  EXPECT_EQ(ended(Missing::kDuplicate, "a").kind, Kind::kDuplicate);
  EXPECT_EQ(ended(Missing::kDeadLetter, "b").kind, Kind::kDead);
  EXPECT_EQ(dead_letters().at(0).reason, reason::kVersionMissing);
  const Outcome again = ended(Missing::kRetry, "c");
  EXPECT_EQ(again.kind, Kind::kRetry);
  EXPECT_EQ(again.reason, reason::kVersionMissing);
  const Outcome handled = ended(Missing::kHandle, "d");
  EXPECT_EQ(handled.reason, reason::kVersionLost) << "its UPDATE finds nothing either";
  EXPECT_EQ(effects(), 0);
}

TEST_P(OptimisticLockSuite, WhatIsNoVersionIsADeadLetter) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', NULL, 0)");
  place_->sql("INSERT INTO orders VALUES (2, 'NEW', 1, 0)");
  place_->sql("INSERT INTO orders VALUES (2, 'NEW', 1, 0)");
  const auto strategy = guarded(*store_, work());
  EXPECT_EQ(last(one(*strategy, about("null", 1, 1)), "null").reason, reason::kVersionInvalid);
  EXPECT_EQ(last(one(*strategy, about("two", 1, 2)), "two").reason, reason::kVersionInvalid);
  for (const char* payload : {"{\"id\":1}", "{\"id\":1,\"version\":null}",
                              "{\"id\":1,\"version\":\"one\"}", "{\"version\":1}", "no JSON"}) {
    const Outcome outcome =
        last(one(*strategy, test::make_delivery(consumer_, payload, payload)), payload);
    EXPECT_EQ(outcome.kind, Kind::kDead) << payload;
    EXPECT_EQ(outcome.reason, reason::kPayloadInvalid) << payload;
  }
  EXPECT_EQ(effects(), 0);
}

TEST_P(OptimisticLockSuite, AHandlerThatWritesElsewhereIsRefused) {
  place_->sql("INSERT INTO orders VALUES (1, 'NEW', 1, 0)");
  const auto strategy = guarded(*store_, [](const Message& message, Transaction& tx) {
    tx.exec("INSERT INTO effect (name) VALUES (?)", message.key().text);
    return done();
  });
  const Outcome outcome = last(one(*strategy, about("a")), "a");
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_EQ(outcome.reason, "handler.sql.refused");
  EXPECT_EQ(effects(), 0);
}

}  // namespace
}  // namespace semel::conformance
