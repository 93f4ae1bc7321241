// A record and the message that is held for it are on two nodes of a Cluster: a forget that stops
// between them, or meets another change there, loses no message that somebody still waits for.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <semel/spi/held_messages.h>

#include "core/failpoints.h"
#include "stores/redis/test_cluster_place.h"
#include "stores/redis/test_end.h"
#include "tests/support/child_process.h"
#include "tests/support/test_environment.h"

namespace semel::redis {
namespace {

class ClusterForget : public ClusterTest {
 protected:
  void SetUp() override { store_ = open(system_environment()); }

  Message message() const { return test::make_message(consumer_, "k", "payload"); }
  KeyId id() const { return message().key().id; }
  Lease acquire(Store& store) const {
    const Message m = message();
    const Message* one = &m;
    const auto claims = store.claim({&one, 1}, {60s, {}, false}).value();
    EXPECT_TRUE(std::holds_alternative<Acquired>(claims.front())) << claims.front().index();
    return std::get<Acquired>(claims.front()).lease;
  }
  void finish(const Finish& finish) {
    ASSERT_EQ(store_->finish({&finish, 1}).value().front(), Applied::kYes);
  }
  void park() {
    const Message m = message();
    finish(test::parked(acquire(*store_), &m));
  }
  RecordInspector& records() { return *store_->facets().records; }
  std::vector<Arrival> take() {
    return store_->facets().held->take(consumer_, 10, 1 << 20, 60s).value();
  }
  std::size_t rows() { return store_->facets().held->depth(consumer_).value().rows; }
  std::string state() {
    const auto shown = records().show(id()).value();
    return shown ? to_string(shown->state) : "none";
  }
  // A process forgets the record and is killed at the point.
  void forget_until(std::string_view point) {
    auto child = test::ChildProcess::fork([&](test::ChildProcess::Voice&) {
      test::HookedFailpoints end;
      end_at(end, point);
      Environment environment = system_environment();
      environment.failpoints = &end;
      const auto store = open(environment);
      (void)store->facets().records->forget(id());
      return 0;
    });
    ASSERT_EQ(child.wait()->code, kEnded) << "it was not stopped";
  }
  // Forgets the record as it is now, and lets `meanwhile` run at the point.
  Result<bool> forget_as_seen(std::string_view point, std::function<void()> meanwhile) {
    const RecordView seen = records().show(id()).value().value();
    test::HookedFailpoints points;
    points.on(point, std::move(meanwhile));
    Environment environment = system_environment();
    environment.failpoints = &points;
    const auto store = open(environment);
    auto forgotten = store->facets().records->forget_as(seen.id, seen.state, seen.token);
    EXPECT_EQ(points.hits(point), 1U) << "nothing came between";
    return forgotten;
  }
  void expect_handled_once() {
    const auto taken = take();
    ASSERT_EQ(taken.size(), 1U) << "the message is lost";
    EXPECT_EQ(taken.front().payload, "payload");
    Finish done = test::completed(acquire(*store_));
    done.ack = taken.front().row;
    finish(done);
    EXPECT_EQ(rows(), 0U);
    EXPECT_TRUE(records().verify(true).value().empty());
  }

  std::unique_ptr<Store> store_;
};

TEST_F(ClusterForget, OneThatIsKilledBeforeTheRecordGoesLeavesTheMessage) {
  park();
  forget_until(failpoint::kKept);
  EXPECT_EQ(state(), "parked");
  EXPECT_TRUE(records().unlock(id()).value());
  expect_handled_once();
}

TEST_F(ClusterForget, OneThatIsKilledBehindTheRecordGoesOnWhenItIsSaidAgain) {
  park();
  const std::uint64_t token = records().show(id()).value()->token;
  for (const bool as_seen : {false, true}) {
    if (as_seen) park();
    forget_until(failpoint::kRecorded);
    EXPECT_EQ(state(), "none");
    EXPECT_TRUE(take().empty());
    EXPECT_TRUE(records().left_behind(id()).value())
        << "it was removed before it was known that its record goes";
    if (as_seen) {
      EXPECT_FALSE(records().forget_as(id(), RecordState::kRetrying, token).value());
      EXPECT_TRUE(records().forget_as(id(), RecordState::kParked, token).value());
    } else {
      EXPECT_TRUE(records().forget(id()).value());
    }
    EXPECT_FALSE(records().left_behind(id()).value());
    EXPECT_FALSE(records().forget(id()).value());
    EXPECT_TRUE(records().verify(true).value().empty());
  }
}

TEST_F(ClusterForget, AMessageWhoseRecordIsGoneIsFoundByItsKey) {
  EXPECT_FALSE(records().left_behind(id()).value());
  park();
  EXPECT_FALSE(records().left_behind(id()).value()) << "its record is there";
  forget_until(failpoint::kRecorded);
  const auto left = records().left_behind(id()).value();
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->state, RecordState::kParked);
  EXPECT_EQ(left->key, "k");
  EXPECT_EQ(left->fingerprint, message().fingerprint());
  EXPECT_EQ(left->token, 0U);
  EXPECT_FALSE(left->reason.empty());
  EXPECT_FALSE(records().unlock_as(id(), RecordState::kDead, 0).value());
  EXPECT_TRUE(records().unlock_as(left->id, left->state, left->token).value());
  EXPECT_EQ(records().left_behind(id()).value()->state, RecordState::kRetrying);
  expect_handled_once();
}

TEST_F(ClusterForget, AMessageThatIsUnlockedMeanwhileIsHandled) {
  park();
  const auto forgotten =
      forget_as_seen(failpoint::kKept, [&] { EXPECT_TRUE(records().unlock(id()).value()); });
  EXPECT_FALSE(forgotten.value()) << "it was seen parked";
  EXPECT_EQ(state(), "retrying");
  expect_handled_once();
}

// The next message of the key is none of what the operator saw.
TEST_F(ClusterForget, AMessageThatIsHeldMeanwhileIsHandled) {
  park();
  const auto forgotten = forget_as_seen(failpoint::kRecorded, [&] {
    const Message m = message();
    finish(test::retrying(acquire(*store_), 0ms, &m));
  });
  EXPECT_TRUE(forgotten.value());
  EXPECT_EQ(state(), "retrying");
  expect_handled_once();
}

TEST_F(ClusterForget, AnAttemptThatBeginsMeanwhileKeepsItsMessage) {
  const Message m = message();
  finish(test::retrying(acquire(*store_), 0ms, &m));
  std::vector<Arrival> taken;
  Lease lease;
  const auto forgotten = forget_as_seen(failpoint::kKept, [&] {
    taken = take();
    lease = acquire(*store_);
  });
  EXPECT_FALSE(forgotten.value()) << "a consumer works on it";
  ASSERT_EQ(taken.size(), 1U);
  Finish again = test::retrying(lease, 0ms, nullptr);
  again.ack = taken.front().row;
  finish(again);
  expect_handled_once();
}

}  // namespace
}  // namespace semel::redis
