#include "tests/conformance/strategy/guard_batches.h"

#include <gtest/gtest.h>

#include <semel/guard.h>
#include <semel/reason.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace semel::conformance {

namespace {

using Went = Outcome::Kind;
using AllWent = std::vector<Went>;
using Batch = std::vector<BatchMessage>;

const Fingerprint kSame = fingerprint_of("same");
const Fingerprint kElse = fingerprint_of("else");

AllWent went(const std::vector<Result<Outcome>>& answers) {
  AllWent kinds;
  for (const auto& answer : answers) {
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    kinds.push_back(answer ? answer->kind : Went::kParked);
  }
  return kinds;
}

// The same with and without a transaction.
const Batch kMixed{{"a", kSame}, {"throws", kSame}, {"b", kSame},      {"held", kSame},
                   {"a", kSame}, {"never", kSame},  {"throws", kSame}, {"b", kElse}};
const AllWent kMixedWent{Went::kDone,      Went::kRetry, Went::kDone,  Went::kBusy,
                         Went::kDuplicate, Went::kDead,  Went::kRetry, Went::kConflict};

Verdict mixed(BytesView key) {
  if (key == "throws") throw std::domain_error("no");
  if (key == "never") return dead("never");
  return done("r:" + Bytes(key));
}

void expect_mixed(const std::vector<Result<Outcome>>& answers) {
  ASSERT_EQ(went(answers), kMixedWent);
  EXPECT_EQ(answers[1]->error, "no");
  EXPECT_EQ(answers[4]->result, "r:a");
  EXPECT_EQ(answers[7]->reason, reason::kKeyConflict);
}

}  // namespace

void guard_batches_plain_work(Store& store) {
  Guard guard(store, {.consumer = "batching"});
  auto held = guard.begin("held", kSame);
  ASSERT_TRUE(held && held->claim);
  std::vector<std::string> ran;
  const auto work = [&](std::size_t i) {
    ran.emplace_back(kMixed[i].key);
    return mixed(kMixed[i].key);
  };
  expect_mixed(guard.run_batch(kMixed, work));
  EXPECT_EQ(ran, (std::vector<std::string>{"a", "throws", "b", "never"}));
  ASSERT_EQ(held->claim->complete()->kind, Went::kDone);
  const Batch again{{"b", kSame}, {"throws", kSame}, {"held", kSame}, {"never", kSame}};
  const auto answers = guard.run_batch(again, [](std::size_t) {});
  EXPECT_EQ(went(answers), (AllWent{Went::kDuplicate, Went::kDone, Went::kDuplicate, Went::kDead}));
  EXPECT_EQ(answers[0]->result, "r:b");
}

void guard_claims_and_finishes(Store& store) {
  Guard guard(store, {.consumer = "claiming"});
  auto begun = guard.begin("a", kSame);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  ASSERT_TRUE(begun->claim);
  EXPECT_EQ(guard.begin("a", kSame)->outcome.kind, Went::kBusy);
  EXPECT_EQ(guard.begin("a", kElse)->outcome.kind, Went::kConflict);
  EXPECT_TRUE(begun->claim->renew().value());
  EXPECT_EQ(begun->claim->give_back("busy")->kind, Went::kRetry);
  begun = guard.begin("a", kSame);
  ASSERT_TRUE(begun && begun->claim);
  begun->claim.reset();
  begun = guard.begin("a", kSame);
  ASSERT_TRUE(begun && begun->claim) << "it was given back";
  EXPECT_EQ(begun->claim->attempt().number, 1) << "as if it had not been";
  std::thread([claim = *std::move(begun->claim)]() mutable {
    EXPECT_EQ(claim.complete("receipt")->kind, Went::kDone);
  }).join();
  const auto again = guard.begin("a", kSame);
  EXPECT_FALSE(again->claim);
  EXPECT_EQ(again->outcome.kind, Went::kDuplicate);
  EXPECT_EQ(again->outcome.result, "receipt");

  // A late holder, as after a long stop of its process.
  Guard stopped(store, {.consumer = "claiming", .lease = std::chrono::milliseconds(1)});
  auto late = stopped.begin("b", kSame);
  ASSERT_TRUE(late && late->claim);
  auto taken = guard.begin("b", kSame);
  while (taken && !taken->claim) taken = guard.begin("b", kSame);
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  EXPECT_TRUE(taken->claim->attempt().taken_over);
  EXPECT_GT(taken->claim->attempt().token, late->claim->attempt().token);
  const auto refused = late->claim->complete("the late one's");
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  EXPECT_EQ(refused->kind, Went::kBusy);
  EXPECT_EQ(refused->reason, reason::kLeaseLost);
  EXPECT_EQ(taken->claim->complete("the new one's")->kind, Went::kDone);
  EXPECT_EQ(guard.begin("b", kSame)->outcome.result, "the new one's");
}

void guard_batches_in_transactions(Store& store, const CallersTable& table) {
  Guard guard(store, {.consumer = "batching-together"});
  auto held = guard.begin("held", kSame);
  ASSERT_TRUE(held && held->claim);
  const auto work = [&](std::size_t i, Transaction& tx) {
    tx.exec("INSERT INTO effect VALUES (?)", kMixed[i].key);
    return mixed(kMixed[i].key);
  };
  expect_mixed(guard.run_batch(kMixed, work));
  EXPECT_EQ(table.effects(), 2) << "of what is done, and of nothing else";
  ASSERT_EQ(held->claim->complete()->kind, Went::kDone);

  // A statement that fails, one that misses, and one that is asked for, among good ones.
  Batch many;
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("m" + std::to_string(i));
  for (const std::string& key : keys) many.push_back({key, kSame});
  const auto answers = guard.run_batch(many, [&](std::size_t i, Transaction& tx) {
    tx.exec("INSERT INTO effect VALUES (?)", keys[i]);
    if (i == 7) tx.exec("INSERT INTO effect VALUES (NULL)");
    if (i == 20) tx.query("SELECT nothing FROM nowhere");
    if (i == 30) {
      tx.exec("UPDATE effect SET name = 'x' WHERE name = 'no such'").expect_rows(1, dead("gone"));
    }
  });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(answers[i].has_value()) << answers[i].error().message;
    const Went expected = i == 7 || i == 20 ? Went::kRetry : i == 30 ? Went::kDead : Went::kDone;
    EXPECT_EQ(answers[i]->kind, expected) << i << ": " << answers[i]->error;
  }
  EXPECT_TRUE(answers[7]->reason.starts_with("handler.sql.")) << answers[7]->reason;
  EXPECT_TRUE(answers[20]->reason.starts_with("handler.sql.")) << answers[20]->reason;
  EXPECT_EQ(table.effects(), 2 + 37);
}

void guard_batches_under_the_callers_commit(Store& store, const CallersTable& table) {
  Guard guard(store, {.consumer = "batching-borrowed"});
  const Batch batch{{"a", kSame}, {"throws", kSame}, {"b", kSame}, {"misses", kSame},
                    {"a", kSame}, {"never", kSame},  {"c", kSame}, {"fails", kSame}};
  const AllWent expected{Went::kDone,      Went::kRetry, Went::kDone, Went::kDead,
                         Went::kDuplicate, Went::kDead,  Went::kDone, Went::kRetry};
  // Each acts on the connection itself; some record statements too.
  const auto work = [&](std::size_t i, Transaction& tx) {
    const BytesView key = batch[i].key;
    table.run("INSERT INTO effect VALUES ('direct')");
    if (key == "b") tx.exec("INSERT INTO effect VALUES (?)", "recorded");
    if (key == "fails") tx.exec("INSERT INTO effect VALUES (NULL)");
    if (key == "misses") {
      tx.exec("UPDATE effect SET name = 'x' WHERE name = 'no such'").expect_rows(1, dead("gone"));
    }
    return mixed(key);
  };
  for (const char* end : {"ROLLBACK", "COMMIT"}) {
    table.run("BEGIN");
    table.run("INSERT INTO effect VALUES ('the caller''s own')");
    EXPECT_EQ(went(guard.run_batch(batch, work)), expected);
    EXPECT_EQ(table.effects(), 5) << "the caller's, three direct ones, one recorded";
    table.run(end);
    EXPECT_EQ(table.effects(), end == std::string_view("COMMIT") ? 5 : 0);
  }
  table.run("BEGIN");
  const auto again = guard.run_batch(batch, [&](std::size_t i) {
    table.run("INSERT INTO effect VALUES ('direct')");
    EXPECT_TRUE(batch[i].key == "throws" || batch[i].key == "fails") << batch[i].key;
  });
  EXPECT_EQ(went(again), (AllWent{Went::kDuplicate, Went::kDone, Went::kDuplicate, Went::kDead,
                                  Went::kDuplicate, Went::kDead, Went::kDuplicate, Went::kDone}));
  EXPECT_EQ(again[0]->result, "r:a");
  table.run("COMMIT");
  EXPECT_EQ(table.effects(), 7);
  for (const auto& answer : guard.run_batch(batch, work)) {
    ASSERT_FALSE(answer.has_value()) << "no transaction is open";
    EXPECT_EQ(answer.error().code, "R208");
  }
}

void guard_guards_in_its_work(Store& store, const CallersTable& table) {
  Guard outer(store, {.consumer = "guarding"});
  Guard inner(store, {.consumer = "guarded-within"});
  const auto inserts = [](const char* name) {
    return [name](Transaction& tx) { tx.exec("INSERT INTO effect VALUES (?)", name); };
  };
  table.run("BEGIN");
  const auto ended = outer.run_once("a", kSame, [&](Transaction& tx) {
    tx.exec("INSERT INTO effect VALUES (?)", "outer");
    for (const char* key : {"x", "y"}) {
      const auto within = inner.run_once(key, kSame, inserts("inner"));
      ASSERT_TRUE(within.has_value()) << within.error().message;
      EXPECT_EQ(within->kind, Went::kDone);
    }
    EXPECT_THROW(
        (void)inner.run_once(
            "fails", kSame, [](Transaction& own) { own.exec("INSERT INTO effect VALUES (NULL)"); }),
        StatementFailed);
  });
  ASSERT_TRUE(ended.has_value()) << ended.error().message;
  EXPECT_EQ(ended->kind, Went::kDone);
  table.run("COMMIT");
  EXPECT_EQ(table.effects(), 3);
  table.run("BEGIN");
  EXPECT_EQ(outer.run_once("a", kSame, inserts("outer"))->kind, Went::kDuplicate);
  EXPECT_EQ(inner.run_once("y", kSame, inserts("inner"))->kind, Went::kDuplicate);
  table.run("COMMIT");
}

}  // namespace semel::conformance
