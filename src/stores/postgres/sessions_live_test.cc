// Sessions that compete for a key, step by step, at every default isolation of the server.
#include <gtest/gtest.h>

#include <future>

#include "stores/postgres/test_live_place.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::make_message;

class SessionsLive : public LiveTest, public testing::WithParamInterface<const char*> {
 protected:
  SessionsLive() {
    sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = "
        "''" +
        std::string(GetParam()) + "''', current_database()); END $$");
    first_ = open();
    second_ = open();
    consumer_ = attach(*first_);
    attach(*second_);
  }
  Message message(const std::string& key) const { return make_message(consumer_, key); }

  // Returns when this many sessions wait for another's lock.
  void wait_for_waiters(int count) const {
    const std::string waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        "wait_event_type = 'Lock'";
    EXPECT_TRUE(test::comes_true([&] { return sql(waiting) == std::to_string(count); }))
        << "nobody waits";
  }
  static std::future<Held> claiming(Store& store, const Message& message) {
    return std::async(std::launch::async, [&] { return claim_in_unit(store, message, 60s); });
  }
  static bool ready(std::future<Held>& one, milliseconds patience = 0ms) {
    return one.wait_for(patience) == std::future_status::ready;
  }

  std::unique_ptr<Store> first_, second_;
  ConsumerNumber consumer_{};
};

TEST_P(SessionsLive, TheServerWouldGiveThisIsolation) {
  std::string isolation = sql("SHOW default_transaction_isolation");
  EXPECT_EQ(isolation, GetParam());
}

TEST_P(SessionsLive, WhoWaitsLearnsHowTheFirstEnded) {
  for (const bool committed : {true, false}) {
    SCOPED_TRACE(committed);
    const Message m = message(committed ? "committed" : "rolled back");
    Held first = claim_in_unit(*first_, m);
    ASSERT_TRUE(is<Acquired>(first.claim));
    auto waiting = claiming(*second_, m);
    wait_for_waiters(1);
    EXPECT_FALSE(ready(waiting));
    if (committed) {
      first.complete();
    } else {
      first.unit.reset();
    }
    Held second = waiting.get();
    EXPECT_EQ(is<Completed>(second.claim), committed);
    EXPECT_EQ(is<Acquired>(second.claim), !committed);
    if (!committed) second.complete();
    EXPECT_TRUE(is<Completed>(claim(*first_, m)));
  }
}

TEST_P(SessionsLive, OfTwoWhoWaitOneHasTheKeyThatWasGivenUp) {
  const Message m = message("k");
  Held first = claim_in_unit(*first_, m);
  ASSERT_TRUE(is<Acquired>(first.claim));
  std::future<Held> waiting[] = {claiming(*second_, m), claiming(*first_, m)};
  wait_for_waiters(2);
  first.unit.reset();
  while (!ready(waiting[0], 1ms) && !ready(waiting[1], 1ms)) continue;
  const std::size_t winner = ready(waiting[0]) ? 0 : 1;
  Held second = waiting[winner].get();
  ASSERT_TRUE(is<Acquired>(second.claim));
  wait_for_waiters(1);
  EXPECT_FALSE(ready(waiting[1 - winner], 20ms));
  second.complete();
  EXPECT_TRUE(is<Completed>(waiting[1 - winner].get().claim));
}

TEST_P(SessionsLive, ALeaseAndAUnitMeet) {
  const Message m = message("unit first");
  Held unit = claim_in_unit(*first_, m);
  EXPECT_TRUE(is<Busy>(claim(*second_, m))) << "it waits for no transaction's end";
  unit.complete();
  EXPECT_TRUE(is<Completed>(claim(*second_, m)));

  const Message other = message("lease first");
  const Claim leased = claim(*second_, other);
  ASSERT_TRUE(is<Acquired>(leased));
  EXPECT_TRUE(is<Busy>(claim_in_unit(*first_, other).claim));
  ASSERT_EQ(finish(*second_, test::retrying(std::get<Acquired>(leased).lease, 0ms, nullptr)),
            Applied::kYes);
  Held retry = claim_in_unit(*first_, other);
  ASSERT_TRUE(is<Acquired>(retry.claim));
  EXPECT_EQ(std::get<Acquired>(retry.claim).attempt, 2);
  EXPECT_TRUE(is<Busy>(claim(*second_, other)));
  retry.complete();
  EXPECT_TRUE(is<Completed>(claim(*second_, other)));
}

// The claim has a conflict of its own, and no serialization failure: a read-only unit has a
// snapshot of its own.
TEST_P(SessionsLive, WhatIsDoneMeanwhileIsNoFailure) {
  const Message m = message("k");
  const Message* const one = &m;
  auto unit = first_->facets().transactional->begin({}).value();
  const auto none = unit->claim({});
  ASSERT_TRUE(none.has_value());
  ASSERT_TRUE(unit->flush().has_value());
  unit.reset();
  const Claim leased = claim(*second_, m);
  ASSERT_EQ(finish(*second_, test::completed(std::get<Acquired>(leased).lease)), Applied::kYes);
  auto late = first_->facets().transactional->begin({}).value();
  const auto claims = late->claim({&one, 1});
  ASSERT_TRUE(claims.has_value()) << claims.error().message;
  EXPECT_TRUE(is<Completed>(claims->front()));
}

INSTANTIATE_TEST_SUITE_P(Isolation, SessionsLive,
                         testing::Values("read committed", "repeatable read", "serializable"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::erase(name, ' ');
                           return name;
                         });

class OpenedAtOnce : public LiveTest {};

TEST_F(OpenedAtOnce, ManyMakeTheTablesAndTheirConsumer) {
  constexpr int kProcesses = 8;
  std::vector<std::unique_ptr<Store>> stores(kProcesses);
  std::vector<ConsumerNumber> numbers(kProcesses);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kProcesses; ++i) {
      threads.emplace_back([&, i] {
        stores[i] = open();
        if (stores[i]) numbers[i] = attach(*stores[i]);
      });
    }
  }
  for (const ConsumerNumber number : numbers) EXPECT_EQ(number, numbers[0]);
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_schema"), "1");
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_generation"), "1");
  const Message m = make_message(numbers[0], "k");
  int acquired = 0;
  for (const auto& store : stores) acquired += is<Acquired>(claim(*store, m)) ? 1 : 0;
  EXPECT_EQ(acquired, 1);
}

}  // namespace
}  // namespace semel::postgres
