// Several processes change one record of a Cluster: whichever is late leaves what the other has
// done.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <semel/spi/held_messages.h>

#include "core/failpoints.h"
#include "stores/redis/held_rows.h"
#include "stores/redis/test_cluster_place.h"
#include "tests/support/test_environment.h"

namespace semel::redis {
namespace {

class ClusterRaces : public ClusterTest {
 protected:
  struct Process {
    test::HookedFailpoints points;
    Environment environment = system_environment();
    std::unique_ptr<Store> store;

    HeldMessages& held() { return *store->facets().held; }
    RecordInspector& records() { return *store->facets().records; }
  };

  void open(Process& process) {
    process.environment.failpoints = &process.points;
    process.store = ClusterTest::open(process.environment);
  }
  void SetUp() override {
    open(first_);
    open(second_);
    open(third_);
  }
  Message message() const { return test::make_message(consumer_, "k", "payload"); }
  static Claim claim(Process& process, const Message& message, milliseconds lease = 60s) {
    const Message* one = &message;
    return process.store->claim({&one, 1}, {lease, {}, false}).value().front();
  }
  static Lease acquire(Process& process, const Message& message, milliseconds lease = 60s) {
    const Claim claimed = claim(process, message, lease);
    EXPECT_TRUE(std::holds_alternative<Acquired>(claimed)) << claimed.index();
    return std::get<Acquired>(claimed).lease;
  }
  static Applied finish(Process& process, const Finish& finish) {
    return process.store->finish({&finish, 1}).value().front();
  }
  std::vector<Arrival> take(Process& process) {
    return process.held().take(consumer_, 10, 1 << 20, 60s).value();
  }
  // It finds its record parked, and is settled.
  void meet_parked(Process& process) {
    const auto taken = take(process);
    ASSERT_EQ(taken.size(), 1U);
    const Claim claimed = claim(process, message());
    ASSERT_TRUE(std::holds_alternative<Closed>(claimed)) << claimed.index();
    ASSERT_EQ(finish(process, test::ack_only(*taken.front().row)), Applied::kYes);
  }
  void expect_due() {
    const Message m = message();
    EXPECT_EQ(std::string(to_string(third_.records().show(m.key().id).value()->state)), "retrying");
    const auto taken = take(third_);
    ASSERT_EQ(taken.size(), 1U) << "nobody wakes it";
    Finish done = test::completed(acquire(third_, m));
    done.ack = taken.front().row;
    EXPECT_EQ(finish(third_, done), Applied::kYes);
    EXPECT_EQ(third_.held().depth(consumer_).value().rows, 0U);
    EXPECT_TRUE(third_.records().verify(true).value().empty());
  }

  Process first_, second_, third_;
};

TEST_F(ClusterRaces, ALateHolderLeavesTheLetterOfTheOneThatTookOver) {
  const Message m = message();
  const Lease late = acquire(first_, m, 0ms);
  first_.points.on(failpoint::kKept, [&] {
    EXPECT_EQ(finish(second_, test::dead(acquire(second_, m), &m)), Applied::kYes);
  });
  EXPECT_EQ(finish(first_, test::dead(late, &m)), Applied::kLeaseLost);
  EXPECT_EQ(third_.store->facets().dead_letters->list({}).value().size(), 1U);
  EXPECT_TRUE(third_.records().unlock(m.key().id).value());
  EXPECT_EQ(take(third_).size(), 1U) << "the message is lost";
}

TEST_F(ClusterRaces, ALateHolderTakesBackALetterThatIsItsOwn) {
  const Message m = message();
  const Lease late = acquire(first_, m, 0ms);
  first_.points.on(failpoint::kKept, [&] {
    EXPECT_EQ(finish(second_, test::completed(acquire(second_, m))), Applied::kYes);
  });
  EXPECT_EQ(finish(first_, test::dead(late, &m)), Applied::kLeaseLost);
  EXPECT_TRUE(third_.store->facets().dead_letters->list({}).value().empty());
}

// A record that is named twice is ended in two passes.
TEST_F(ClusterRaces, WhatTheFirstOfTwoGoesHasDoneIsInDoubtWhenTheSecondFails) {
  const Message m = message();
  const Lease lease = acquire(first_, m);
  const std::string record = Names(prefix_, true).record(m.key().id);
  first_.points.on(failpoint::kRecorded, [&] {
    cluster_.run({"DEL", record});
    cluster_.run({"LPUSH", record, "x"});
  });
  const std::vector<Finish> batch = {test::completed(lease), test::dead(lease, &m)};
  const auto failed = first_.store->finish(batch);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, "R263") << failed.error().message;
  EXPECT_EQ(failed.error().kind, ErrorKind::kInDoubt);
  cluster_.run({"DEL", record});
}

// The end of an attempt that was delivered by its source, while its record has a row.
TEST_F(ClusterRaces, WhatIsHeldAnewBeforeTheOldRowGoesStays) {
  const Message m = message();
  for (const bool dies : {false, true}) {
    ASSERT_EQ(finish(first_, test::retrying(acquire(first_, m), 0ms, &m)), Applied::kYes);
    const Lease lease = acquire(first_, m);
    std::size_t passed = 0;
    first_.points.on(failpoint::kRecorded, [&] {
      if (passed++ > 0) return;
      if (dies) {
        EXPECT_TRUE(second_.records().unlock(m.key().id).value());
      } else {
        EXPECT_TRUE(second_.records().forget(m.key().id).value());
        EXPECT_EQ(finish(second_, test::retrying(acquire(second_, m), 0ms, &m)), Applied::kYes);
      }
    });
    const Finish end = dies ? test::dead(lease, &m) : test::completed(lease);
    EXPECT_EQ(finish(first_, end), Applied::kYes);
    EXPECT_GT(passed, 0U) << "nothing came between";
    first_.points.on(failpoint::kRecorded, [] {});
    // A copy of the row that the unlock replaced is a second delivery.
    auto taken = take(third_);
    ASSERT_FALSE(taken.empty()) << "the message is lost";
    Finish done = test::completed(acquire(third_, m));
    done.ack = taken.back().row;
    EXPECT_EQ(finish(third_, done), Applied::kYes);
    for (std::size_t i = 0; i + 1 < taken.size(); ++i) {
      EXPECT_EQ(finish(third_, test::ack_only(*taken[i].row)), Applied::kYes);
    }
    EXPECT_EQ(third_.held().depth(consumer_).value().rows, 0U);
    EXPECT_TRUE(third_.records().verify(true).value().empty());
    EXPECT_TRUE(third_.records().forget(m.key().id).value());
  }
}

TEST_F(ClusterRaces, WhatIsUnlockedBeforeItsRowIsParkedIsDue) {
  const Message m = message();
  first_.points.on(failpoint::kRecorded,
                   [&] { EXPECT_TRUE(second_.records().unlock(m.key().id).value()); });
  ASSERT_EQ(finish(first_, test::parked(acquire(first_, m), &m)), Applied::kYes);
  expect_due();
}

TEST_F(ClusterRaces, WhatIsUnlockedWhileItsRowIsMetIsDue) {
  const Message m = message();
  ASSERT_EQ(finish(third_, test::parked(acquire(third_, m), &m)), Applied::kYes);
  // The second time the row is met, and its record was looked at.
  first_.points.on(failpoint::kRecorded, [&] {
    if (first_.points.hits(failpoint::kRecorded) < 2) return;
    EXPECT_TRUE(third_.records().unlock(m.key().id).value());
  });
  second_.points.on(failpoint::kKept, [&] { meet_parked(first_); });
  EXPECT_FALSE(second_.records().unlock(m.key().id).value()) << "the third has done it";
  EXPECT_EQ(first_.points.hits(failpoint::kRecorded), 2U);
  expect_due();
}

// The unlock is slow, and the row shows before the record is open.
TEST_F(ClusterRaces, ACopyThatWasMetTooEarlyIsHeldAgain) {
  const Message m = message();
  ASSERT_EQ(finish(third_, test::dead(acquire(third_, m), &m)), Applied::kYes);
  bool met = false;
  second_.points.on(failpoint::kKept, [&] {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      // It is in no line yet, as one that nobody has met.
      const std::string due = Names(prefix_, true).lane(consumer_, lane) + "n";
      std::istringstream hidden(cluster_.run({"ZRANGE", due, "0", "-1"}));
      for (std::string row; hidden >> row;) cluster_.run({"ZADD", due, "0", row});
    }
    meet_parked(first_);
    met = first_.held().depth(consumer_).value().rows == 0;
  });
  EXPECT_TRUE(second_.records().unlock(m.key().id).value());
  EXPECT_TRUE(met) << "nothing came between";
  expect_due();
}

TEST_F(ClusterRaces, ARowThatAnUnlockHasLostIsHeldByTheNext) {
  const Message m = message();
  ASSERT_EQ(finish(third_, test::dead(acquire(third_, m), &m)), Applied::kYes);
  EXPECT_TRUE(second_.records().unlock(m.key().id).value());
  EXPECT_FALSE(second_.records().unlock(m.key().id).value()) << "it has its row";
  const auto lost = take(first_);
  ASSERT_EQ(lost.size(), 1U);
  const RowTag row = *lost.front().row;
  ASSERT_TRUE(first_.held().remove({&row, 1}).has_value());
  EXPECT_TRUE(second_.records().unlock(m.key().id).value());
  expect_due();
}

TEST_F(ClusterRaces, WhatIsUnlockedAfterItWasMetIsDue) {
  const Message m = message();
  ASSERT_EQ(finish(third_, test::parked(acquire(third_, m), &m)), Applied::kYes);
  std::vector<Arrival> taken;
  second_.points.on(failpoint::kKept, [&] {
    taken = take(first_);
    EXPECT_TRUE(std::holds_alternative<Closed>(claim(first_, m)));
  });
  EXPECT_TRUE(second_.records().unlock(m.key().id).value());
  ASSERT_EQ(taken.size(), 1U);
  ASSERT_EQ(finish(first_, test::ack_only(*taken.front().row)), Applied::kYes);
  expect_due();
}

TEST_F(ClusterRaces, WhatAnUnlockThatDiedHasLeftParkedIsUnlockedByTheNext) {
  const Message m = message();
  ASSERT_EQ(finish(first_, test::parked(acquire(first_, m), &m)), Applied::kYes);
  cluster_.run({"SETRANGE", Names(prefix_, true).record(m.key().id), "1", "R"});
  EXPECT_TRUE(take(first_).empty()) << "it is parked";
  EXPECT_TRUE(second_.records().unlock(m.key().id).value());
  EXPECT_FALSE(second_.records().unlock(m.key().id).value());
  expect_due();
}

// A row of a later attempt waits until it is due.
TEST_F(ClusterRaces, WhatAnUnlockHasLeftParkedIsUnlockedAsItWasSeenOnly) {
  const Message m = message();
  ASSERT_EQ(finish(first_, test::parked(acquire(first_, m), &m)), Applied::kYes);
  const RecordView seen = second_.records().show(m.key().id).value().value();
  ASSERT_EQ(seen.state, RecordState::kParked);
  cluster_.run({"SETRANGE", Names(prefix_, true).record(m.key().id), "1", "R"});
  const auto unlock_as = [&](RecordState state, std::uint64_t token) {
    return second_.records().unlock_as(seen.id, state, token).value();
  };
  EXPECT_FALSE(unlock_as(RecordState::kParked, seen.token - 1)) << "another try has begun since";
  EXPECT_FALSE(unlock_as(RecordState::kRetrying, seen.token)) << "what waits is not unlocked";
  EXPECT_TRUE(take(first_).empty()) << "it is parked";
  EXPECT_TRUE(unlock_as(RecordState::kParked, seen.token));
  EXPECT_FALSE(unlock_as(RecordState::kParked, seen.token));
  expect_due();
}

TEST_F(ClusterRaces, WhatIsDoneWithoutALeaseGoesWhateverItsRecordSays) {
  const Message m = message();
  for (const bool sends : {false, true}) {
    ASSERT_EQ(finish(first_, test::retrying(acquire(first_, m), 0ms, &m)), Applied::kYes);
    const auto taken = take(first_);
    ASSERT_EQ(taken.size(), 1U);
    const auto relay = first_.store->attach({"relay", "recipe", false, {}}).value();
    Finish done = test::ack_only(*taken.front().row);
    if (sends) {
      done.outgoing.resize(1);
    } else {
      done.to = Finish::To::kCompleted;
    }
    for (Outgoing& one : done.outgoing) one.to = relay;
    EXPECT_EQ(finish(first_, done), Applied::kYes);
    EXPECT_EQ(first_.held().depth(consumer_).value().rows, 0U) << sends;
  }
}

TEST_F(ClusterRaces, WhatIsParkedAgainWhileItIsUnlockedIsDue) {
  const Message m = message();
  ASSERT_EQ(finish(third_, test::parked(acquire(third_, m), &m)), Applied::kYes);
  second_.points.on(failpoint::kKept, [&] { meet_parked(first_); });
  EXPECT_TRUE(second_.records().unlock(m.key().id).value());
  expect_due();
}

}  // namespace
}  // namespace semel::redis
