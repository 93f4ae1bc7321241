// An instance that others found dead, and that goes on: it is the holder of what it claims and
// renews from then on, and hears which of its leases others took over.
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <semel/spi/failpoints.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/step_store.h>

#include "stores/redis/instance.h"
#include "stores/redis/run_markers.h"
#include "stores/redis/test_place.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/test_environment.h"

namespace semel::redis {
namespace {

constexpr milliseconds kLease = 1h;

// Two instances that run one consumer.
class GoneInstances : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    first_ = open(environment_);
    other_ = open(others_environment_);
    ASSERT_TRUE(runs(*first_).begin(consumer_, 1).has_value());
    ASSERT_TRUE(runs(*other_).begin(consumer_, 1).has_value());
  }
  std::unique_ptr<Store> open(test::TestEnvironment& environment) {
    RedisOptions options;
    options.url = on_cluster() ? test::RedisCluster::shared().url() : shared().url();
    options.prefix = prefix_;
    options.environment = &environment.get();
    auto store = open_redis(options).value();
    consumer_ = store->attach({"payments", "recipe", false, {}}).value();
    return store;
  }
  static RunMarkers& runs(Store& store) { return *store.facets().runs; }
  static bool on_cluster() { return GetParam(); }
  std::string query(const std::vector<std::string>& words) const {
    const std::string node = prefix_ + "{store}runs";
    return on_cluster() ? test::RedisCluster::shared().run_for(node, words) : shared().run(words);
  }

  // All connections of the first one are cut for long enough, and the other one looks for it.
  void find_first_gone() {
    const Lease probe = acquire(*first_, message("probe " + std::to_string(++probes_)));
    const std::string name(reinterpret_cast<const char*>(probe.nonce.bytes.data()),
                           Instance::kSize);
    std::istringstream session(query({"HGET", prefix_ + "{store}sessions", name}));
    std::string life, number;
    session >> life >> number;
    query({"DEL", prefix_ + "{store}alive:" + name});
    ASSERT_EQ(query({"CLIENT", "KILL", "ID", number}), "1");
    ASSERT_TRUE(runs(*other_).sweep().value());
    environment_.clock.advance(kSure);
  }

  Message message(BytesView key) const { return test::make_message(consumer_, key); }
  static Result<Claim> try_claim(Store& store, const Message& message) {
    const Message* one = &message;
    auto claims = store.claim({&one, 1}, {kLease, {}, true});
    if (!claims) return failure(claims.error());
    return claims->front();
  }
  static Lease acquire(Store& store, const Message& message) {
    const auto claim = try_claim(store, message).value();
    EXPECT_TRUE(std::holds_alternative<Acquired>(claim));
    return std::holds_alternative<Acquired>(claim) ? std::get<Acquired>(claim).lease : Lease{};
  }
  static bool is_free(Store& store, const Message& message) {
    return std::holds_alternative<Acquired>(try_claim(store, message).value());
  }
  static Applied renew(Store& store, const Lease& lease) {
    return store.renew({&lease, 1}, kLease).value().front();
  }
  static Applied finish(Store& store, const Finish& finish) {
    return store.finish({&finish, 1}).value().front();
  }

  test::TestEnvironment environment_{1}, others_environment_{2};
  const std::string prefix_ =
      on_cluster() ? test::RedisCluster::shared().new_prefix() : shared().new_database() + ":";
  ConsumerNumber consumer_{};
  std::unique_ptr<Store> first_, other_;
  int probes_ = 0;
};

TEST_P(GoneInstances, ALeaseThatItRenewsIsItsOwnAgain) {
  for (const bool swept : {false, true}) {
    const Message m = message(swept ? "swept" : "not swept");
    const Lease lease = acquire(*first_, m);
    ASSERT_NO_FATAL_FAILURE(find_first_gone());
    if (swept) {
      ASSERT_TRUE(runs(*first_).sweep().has_value());
    }
    ASSERT_EQ(renew(*first_, lease), Applied::kYes);
    EXPECT_FALSE(is_free(*other_, m)) << "its holder was told that it has it";
    EXPECT_EQ(finish(*first_, test::completed(lease)), Applied::kYes);
  }
}

TEST_P(GoneInstances, ItHearsThatALeaseWasTakenOver) {
  const Message m = message("k");
  const Lease lease = acquire(*first_, m);
  ASSERT_NO_FATAL_FAILURE(find_first_gone());
  const Lease others = acquire(*other_, m);
  EXPECT_EQ(renew(*first_, lease), Applied::kLeaseLost);
  EXPECT_EQ(finish(*first_, test::completed(lease)), Applied::kLeaseLost);
  EXPECT_EQ(finish(*other_, test::completed(others)), Applied::kYes);
}

TEST_P(GoneInstances, WhatItRenewedIsFreeAtItsNextDeath) {
  const Message m = message("k");
  const Lease lease = acquire(*first_, m);
  for (int deaths = 0; deaths < 2; ++deaths) {
    ASSERT_NO_FATAL_FAILURE(find_first_gone());
    ASSERT_EQ(renew(*first_, lease), Applied::kYes) << deaths;
    EXPECT_FALSE(is_free(*other_, m)) << deaths;
  }
  ASSERT_NO_FATAL_FAILURE(find_first_gone());
  EXPECT_TRUE(is_free(*other_, m));
}

TEST_P(GoneInstances, EveryEndOfARenewedLeaseTakesEffect) {
  const Message row = message("row");
  ASSERT_EQ(finish(*first_, test::retrying(acquire(*first_, row), 0ms, &row)), Applied::kYes);
  const auto arrivals =
      first_->facets().held->take(consumer_, 10, 1 << 20, kLease, LineOf()).value();
  ASSERT_EQ(arrivals.size(), 1U);
  const auto lease = [&](const char* key) { return acquire(*first_, message(key)); };
  std::vector<Finish> ends = {
      test::completed(lease("completed")), test::retrying(lease("retrying"), 0ms, nullptr),
      test::parked(lease("parked"), nullptr), test::dead(lease("dead"), nullptr),
      test::not_started(lease("not started"))};
  ends.push_back(test::completed(acquire(*first_, row)));
  ends.back().ack = arrivals[0].row;
  std::vector<Lease> leases;
  leases.reserve(ends.size());
  for (const Finish& end : ends) leases.push_back(*end.lease);
  ASSERT_NO_FATAL_FAILURE(find_first_gone());
  ASSERT_EQ(first_->renew(leases, kLease).value(), std::vector(ends.size(), Applied::kYes));
  StepEntry step;
  step.name = "step";
  EXPECT_EQ(first_->facets().steps->keep(leases[1], step).value(), Applied::kYes);
  for (const Finish& end : ends) {
    EXPECT_EQ(finish(*first_, end), Applied::kYes) << static_cast<int>(end.to);
  }
}

// Each end and a step, sent under the name that a renewal replaces.
TEST_P(GoneInstances, AnEndDuringWhichItsLeaseGetsAnotherNameTakesEffect) {
  std::optional<Lease> renewed;
  environment_.failpoints.on(failpoint::kCommitBefore, [&] {
    if (!renewed) return;
    const Lease lease = *std::exchange(renewed, std::nullopt);
    find_first_gone();
    EXPECT_EQ(renew(*first_, lease), Applied::kYes);
  });
  const Message row = message("row");
  ASSERT_EQ(finish(*first_, test::retrying(acquire(*first_, row), 0ms, &row)), Applied::kYes);
  const auto arrivals =
      first_->facets().held->take(consumer_, 10, 1 << 20, kLease, LineOf()).value();
  ASSERT_EQ(arrivals.size(), 1U);
  const auto lease = [&](const char* key) { return acquire(*first_, message(key)); };
  const Message parked = message("parked");
  std::vector<Finish> ends = {
      test::completed(lease("completed")), test::retrying(lease("retrying"), 0ms, nullptr),
      test::parked(acquire(*first_, parked), &parked), test::dead(lease("dead"), nullptr),
      test::not_started(lease("not started"))};
  ends.push_back(test::completed(acquire(*first_, row)));
  ends.back().ack = arrivals[0].row;
  StepEntry step;
  step.name = "step";
  renewed = ends[1].lease;
  EXPECT_EQ(first_->facets().steps->keep(*ends[1].lease, step).value(), Applied::kYes);
  EXPECT_FALSE(renewed.has_value());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (i == 1) ends[i].lease = lease("another one");
    renewed = ends[i].lease;
    EXPECT_EQ(finish(*first_, ends[i]), Applied::kYes) << static_cast<int>(ends[i].to);
    EXPECT_FALSE(renewed.has_value());
  }
}

TEST_P(GoneInstances, AnEndWhoseLeaseIsTakenOverMeanwhileIsTold) {
  std::optional<Lease> others;
  const Message m = message("k");
  const Finish done = test::completed(acquire(*first_, m));
  environment_.failpoints.on(failpoint::kCommitBefore, [&] {
    find_first_gone();
    others = acquire(*other_, m);
    ASSERT_TRUE(runs(*first_).sweep().has_value());
  });
  EXPECT_EQ(finish(*first_, done), Applied::kLeaseLost);
  ASSERT_TRUE(others.has_value());
  EXPECT_EQ(finish(*other_, test::completed(*others)), Applied::kYes);
}

TEST_P(GoneInstances, ItsNextClaimIsItsOwn) {
  ASSERT_NO_FATAL_FAILURE(find_first_gone());
  const Message m = message("k");
  const Lease lease = acquire(*first_, m);
  EXPECT_FALSE(is_free(*other_, m));
  EXPECT_EQ(finish(*first_, test::completed(lease)), Applied::kYes);
}

TEST_P(GoneInstances, AClaimDuringWhichItIsFoundGoneIsItsOwn) {
  bool found = false;
  environment_.failpoints.on(failpoint::kClaimed, [&] {
    if (std::exchange(found, true)) return;
    find_first_gone();
  });
  const Message m = message("k");
  const Lease lease = acquire(*first_, m);
  ASSERT_TRUE(found);
  EXPECT_FALSE(is_free(*other_, m));
  EXPECT_EQ(finish(*first_, test::completed(lease)), Applied::kYes);
}

TEST_P(GoneInstances, AClaimThatAnotherTakesOverBeforeItsAnswerIsBusy) {
  bool found = false;
  std::optional<Lease> others;
  const Message m = message("k");
  environment_.failpoints.on(failpoint::kClaimed, [&] {
    if (std::exchange(found, true)) return;
    find_first_gone();
    others = acquire(*other_, m);
  });
  EXPECT_FALSE(is_free(*first_, m));
  ASSERT_TRUE(others.has_value());
  EXPECT_EQ(finish(*other_, test::completed(*others)), Applied::kYes);
}

// It ends and begins a run before it has heard of its death.
TEST_P(GoneInstances, ItsNextRunHasAnotherName) {
  ASSERT_NO_FATAL_FAILURE(find_first_gone());
  ASSERT_TRUE(runs(*first_).end(consumer_).has_value());
  ASSERT_TRUE(runs(*first_).begin(consumer_, 1).has_value());
  const Message m = message("k");
  acquire(*first_, m);
  EXPECT_FALSE(is_free(*other_, m));
}

TEST_P(GoneInstances, ItClaimsNothingUntilItCanAskForItsName) {
  ASSERT_NO_FATAL_FAILURE(find_first_gone());
  const std::string runs_name = prefix_ + "{store}runs";
  query({"RENAME", runs_name, runs_name + "away"});
  query({"SET", runs_name, "nonsense"});
  const Message m = message("k");
  EXPECT_FALSE(try_claim(*first_, m).has_value());
  EXPECT_TRUE(is_free(*other_, m)) << "nothing was claimed";
}

TEST_P(GoneInstances, AClaimAfterWhichItCannotAskForItsNameIsFreed) {
  const std::string runs_name = prefix_ + "{store}runs";
  environment_.failpoints.on(failpoint::kClaimed, [&] {
    environment_.clock.advance(kSure);
    query({"RENAME", runs_name, runs_name + "away"});
    query({"SET", runs_name, "nonsense"});
  });
  const Message m = message("k");
  EXPECT_FALSE(try_claim(*first_, m).has_value());
  EXPECT_TRUE(is_free(*other_, m)) << "nobody has its lease";
}

INSTANTIATE_TEST_SUITE_P(On, GoneInstances, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "ACluster" : "AServer");
});

}  // namespace
}  // namespace semel::redis
