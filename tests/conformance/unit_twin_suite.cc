// TransactionalStore: what units of work see of each other, of a holder and of a lost answer.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "tests/conformance/unit_test_base.h"
#include "tests/support/fault_store.h"

namespace semel::conformance {
namespace {

using test::make_messages;
using test::pointers;

TEST_P(UnitSuite, ATwinInAnotherUnitWaitsAndIsADuplicate) {
  for (const bool committed : {true, false}) {
    SCOPED_TRACE(committed);
    const Message m = message(committed ? "committed" : "given up");
    Batch first = claim_in_unit({m});
    first.unit->run(0, effect(m.key().text));
    flushed(first);
    std::atomic<bool> begun = false;
    std::optional<Claim> answer;
    std::jthread second([&] {
      begun = true;
      Batch batch = claim_in_unit({m});
      answer = batch.claims.at(0);
    });
    while (!begun) std::this_thread::yield();
    finish_all(first);
    if (committed) commit(first);
    first.unit.reset();
    second.join();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(is<Completed>(*answer), committed) << describe(*answer);
    EXPECT_EQ(is<Acquired>(*answer), !committed) << describe(*answer);
  }
}

TEST_P(UnitSuite, KeysAreBytes) {
  using namespace std::string_literals;
  std::vector<Message> messages;
  for (const Bytes& key : {"abc"s, "ABC"s, "abc "s, "\xc3\xa4"s + "bc", "abc\0"s, "\xff\xfe"s,
                           Bytes(64 << 10, 'k'), Bytes((64 << 10) - 1, 'k')}) {
    messages.push_back(message(key));
  }
  Batch batch = claim_in_unit(messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_TRUE(is<Acquired>(batch.claims.at(i))) << i << ": " << describe(batch.claims[i]);
  }
  finish_all(batch);
  commit(batch);
  batch.unit.reset();
  for (const Message& m : messages) EXPECT_TRUE(is<Completed>(claim(m)));
}

TEST_P(UnitSuite, NobodyWaitsLongerThanItsPatience) {
  Batch first = claim_in_unit({message("k")});
  UnitOptions hasty;
  hasty.patience = 50ms;
  std::jthread([&] {
    auto unit = transactional().begin(hasty);
    if (!unit) {
      EXPECT_EQ(unit.error().kind, ErrorKind::kBlocked) << unit.error().message;
      return;
    }
    EXPECT_FALSE(store().traits().single_writer);
    const Message m = message("k");
    const Message* one = &m;
    const auto claims = (*unit)->claim({&one, 1});
    ASSERT_TRUE(claims.has_value()) << "the blocked key alone is busy";
    EXPECT_TRUE(is<Busy>(claims->at(0)));
  }).join();
  finish_all(first);
  commit(first);
}

TEST_P(UnitSuite, ALookWaitsForNobodyAndHoldsUpNobody) {
  Batch writing = claim_in_unit({message("k")});
  writing.unit->run(0, effect("uncommitted"));
  flushed(writing);
  UnitOptions looks;
  looks.only_looks = true;
  looks.patience = 50ms;
  std::jthread([&] {
    auto first = transactional().begin(looks);
    auto second = transactional().begin(looks);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    ASSERT_TRUE(second.has_value()) << second.error().message;
    for (auto* unit : {&*first, &*second}) {
      const auto rows = (*unit)->query(0, statement("SELECT name FROM effect"));
      ASSERT_TRUE(rows.has_value()) << rows.error().message;
      EXPECT_TRUE(rows->rows.empty()) << "what is committed, no more";
    }
    const Message other = message("other");
    const Message* one = &other;
    EXPECT_EQ((*first)->claim({&one, 1}).error().kind, ErrorKind::kRejected);
    EXPECT_FALSE((*second)->commit().has_value());
  }).join();
  finish_all(writing);
  commit(writing);
}

TEST_P(UnitSuite, RaceOfUnitsOnTheSameKeysMakesEachEffectOnce) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 10;
  const auto second = place().open();
  std::atomic<int> acquired = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Store& mine = t % 2 == 0 ? store() : *second;
        for (int round = 0; round < kRounds; ++round) {
          auto messages = make_messages(consumer(), "r" + std::to_string(round) + "-", 20);
          if (t == 1) std::ranges::reverse(messages);
          UnitOptions patient;
          patient.patience = 60s;
          auto unit = mine.facets().transactional->begin(patient);
          ASSERT_TRUE(unit.has_value()) << unit.error().message;
          auto claims = (*unit)->claim(pointers(messages));
          ASSERT_TRUE(claims.has_value()) << claims.error().message;
          Batch batch{std::move(*unit), std::move(messages), std::move(*claims)};
          for (std::size_t i = 0; i < batch.messages.size(); ++i) {
            if (!is<Acquired>(batch.claims[i])) continue;
            ++acquired;
            batch.unit->run(i, effect(batch.messages[i].key().text));
          }
          flushed(batch);
          finish_all(batch);
          commit(batch);
        }
      });
    }
  }
  EXPECT_EQ(acquired, kRounds * 20);
  EXPECT_EQ(effects(), kRounds * 20);
  EXPECT_EQ(count("(SELECT DISTINCT name FROM effect) AS different"), kRounds * 20);
}

TEST_P(UnitSuite, ConfirmLetsOnlyTheHolderOn) {
  const auto messages = make_messages(consumer(), "m-", 3);
  std::vector<Lease> leases;
  for (const Message& m : messages) leases.push_back(acquire(m).lease);
  advance(kPastLease);
  const Lease thief = acquire(messages[1]).lease;
  auto unit = begin();
  const auto confirmed = unit->confirm(leases);
  ASSERT_TRUE(confirmed.has_value()) << confirmed.error().message;
  ASSERT_EQ(*confirmed, (std::vector<Applied>{Applied::kYes, Applied::kLeaseLost, Applied::kYes}));
  unit->run(0, effect("e0"));
  unit->run(2, effect("e2"));
  ASSERT_TRUE(unit->flush().has_value());
  const std::vector<Finish> endings = {test::completed(leases[0]), test::completed(leases[1]),
                                       test::completed(leases[2])};
  const auto applied = unit->finish(endings);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  EXPECT_EQ(*applied, *confirmed);
  ASSERT_TRUE(unit->commit().has_value());
  unit.reset();
  EXPECT_EQ(effects(), 2);
  EXPECT_TRUE(is<Completed>(claim(messages[0])));
  EXPECT_TRUE(is<Busy>(claim(messages[1])));
  EXPECT_TRUE(is<Completed>(claim(messages[2])));
  EXPECT_EQ(finish(test::completed(thief)), Applied::kYes);
}

TEST_P(UnitSuite, AConfirmedUnitGivenUpLeavesTheLease) {
  const Message m = message("k");
  const Lease lease = acquire(m).lease;
  auto unit = begin();
  ASSERT_EQ(unit->confirm({&lease, 1}).value().at(0), Applied::kYes);
  unit->run(0, effect("e"));
  ASSERT_TRUE(unit->flush().has_value());
  unit.reset();
  EXPECT_EQ(effects(), 0);
  EXPECT_TRUE(is<Busy>(claim(m)));
  EXPECT_EQ(finish(test::completed(lease)), Applied::kYes);
}

TEST_P(UnitSuite, ACommitInDoubtIsResolvedByClaimingAgain) {
  test::FaultPlan plan;
  const auto faulty = test::make_fault_store(store(), plan);
  for (const test::When when : {test::When::kBefore, test::When::kAfter}) {
    const bool committed = when == test::When::kAfter;
    SCOPED_TRACE(committed);
    const Message m = message(committed ? "committed" : "lost");
    plan.fail(test::StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, when);
    const auto attempt = [&]() -> std::optional<Claim> {
      auto unit = faulty->facets().transactional->begin({});
      EXPECT_TRUE(unit.has_value());
      const Message* one = &m;
      Claim answer = (*unit)->claim({&one, 1}).value().at(0);
      if (!is<Acquired>(answer)) return answer;
      (*unit)->run(0, effect(m.key().text));
      EXPECT_TRUE((*unit)->flush().has_value());
      const Finish done = test::completed(std::get<Acquired>(answer).lease);
      EXPECT_TRUE((*unit)->finish({&done, 1}).has_value());
      const auto result = (*unit)->commit();
      if (result) return std::nullopt;
      EXPECT_EQ(result.error().kind, ErrorKind::kInDoubt);
      return answer;
    };
    const auto doubtful = attempt();
    ASSERT_EQ(plan.fired(test::StoreCall::kUnitCommit), committed ? 2U : 1U);
    ASSERT_TRUE(doubtful.has_value());
    const auto again = attempt();
    EXPECT_EQ(again.has_value(), committed) << "claimed again, it says whether it had happened";
    if (again) {
      EXPECT_TRUE(is<Completed>(*again)) << describe(*again);
    }
    EXPECT_EQ(effects(m.key().text), 1) << "once, either way";
  }
}

}  // namespace
}  // namespace semel::conformance
