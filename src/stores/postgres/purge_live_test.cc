// A purge among others: who reads for long, who moves a ttl, who renews what it moves.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>

#include <semel/steps.h>

#include "stores/postgres/test_live_place.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::make_message;

// Passes when it is looked at: what a budget buys is the same on any machine.
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
  // The first generation is sealed, and all that was completed in it is past its ttl.
  void make_past(Store& store) {
    advance(kRoll);
    purged(store);
    advance(kTtl + 1min);
  }
  std::string generations() const {
    return sql("SELECT string_agg(number::text, ',' ORDER BY number) FROM semel.semel_generation");
  }
  bool wait_for_waiters(int count) const {
    return test::comes_true([&] { return server_.lock_waiters(database_) == count; });
  }
};

// As a purge moves it: gone from one generation and in another, in one transaction.
TEST_F(PurgeLive, WhatItMovesIsStillHeld) {
  const auto store = open();
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
    EXPECT_TRUE(wait_for_waiters(1));
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

}  // namespace
}  // namespace semel::postgres
