// The engine with an order: later messages do not overtake one that waits.
#include <gtest/gtest.h>

#include <algorithm>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <semel/memory.h>

#include "compose/test_engine_parts.h"
#include "core/intake.h"
#include "engine/engine.h"
#include "system/mutex.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"
#include "tests/support/memory_source.h"
#include "tests/support/recording_observer.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;
using test::FaultPlan;
using test::MemorySource;
using test::MemoryTopic;
using test::StoreCall;
using OnFailure = core::Order::OnFailure;
using Names = std::vector<std::string>;

// The first letter of an id is its ordering key; an id of one letter has none.
Bytes payload(const std::string& id) {
  if (id.size() == 1) return R"({"id":")" + id + R"("})";
  return R"({"id":")" + id + R"(","k":")" + id.substr(0, 1) + R"("})";
}

class EngineOrderTest : public testing::Test {
 protected:
  EngineOrderTest() : memory_(make_memory_store()), store_(make_fault_store(*memory_, plan_)) {
    recipe_.parts.push_back(core::KeyPart::parse("json:/id").value());
    number_ = store_->attach({"orders", recipe_.hash(), false, std::nullopt}).value();
    order_.key = core::KeyPart::parse("json:/k").value();
  }

  // Makes the first `times` attempts of the message fail.
  void fail(const std::string& id, int times = 1, milliseconds after = milliseconds(20)) {
    failing_[id] = {times, after};
  }
  // Another process has stored the message for a retry after this time.
  void hold(const std::string& id, milliseconds after) {
    const Message message = test::make_message(number_, id, payload(id));
    Arrival arrival;
    arrival.line = id.substr(0, 1);
    Finish finish;
    finish.to = Finish::To::kRetrying;
    finish.delay = after;
    finish.keep = &message;
    finish.arrival = &arrival;
    EXPECT_TRUE(memory_->finish({&finish, 1}).has_value());
  }
  void arrive(const Names& ids) {
    for (const std::string& id : ids) topic_.add(payload(id));
  }

  Ended run() {
    topic_.finish();
    EngineOptions options;
    options.consumer = "orders";
    options.number = number_;
    options.recipe = recipe_;
    options.order = order_;
    options.shares_lines = shares_lines_;
    options.once = true;
    options.pace.max_in_flight = in_flight_;
    auto intake = std::make_shared<core::Intake>(number_, recipe_, core::Limits{}, order_);
    const TestEngine of{
        "orders",  number_, *store_,
        observer_, gate_,   [intake](const Arrival& arrival) { return intake->line_of(arrival); }};
    auto parts = test_engine_parts(of, std::make_unique<MemorySource>(topic_), handler());
    return Engine::create(std::move(options), std::move(parts))->run();
  }

  Names effects() {
    const std::scoped_lock lock(mutex_);
    return effects_;
  }
  Names effects_of(char key) {
    Names of;
    for (const std::string& id : effects()) {
      if (id[0] == key) of.push_back(id);
    }
    return of;
  }

  PlainHandler handler() {
    return [this](const Message& message, const Attempt&) -> Verdict {
      const std::scoped_lock lock(mutex_);
      const std::string id = message.key().text;
      if (also_) also_(id);
      if (auto at = failing_.find(id); at != failing_.end() && at->second.first-- > 0) {
        tries_.push_back(id);
        return retry("not this time", at->second.second);
      }
      effects_.push_back(id);
      return done();
    };
  }

  FaultPlan plan_;
  std::unique_ptr<Store> memory_;
  std::unique_ptr<Store> store_;
  core::KeyRecipe recipe_;
  core::Order order_;
  bool shares_lines_ = false;
  std::size_t in_flight_ = 50;
  std::function<void(const std::string& id)> also_;  // called in the handler
  ConsumerNumber number_{};
  MemoryTopic topic_;
  test::RecordingObserver observer_;
  system::Mutex gate_;
  std::mutex mutex_;
  std::map<std::string, std::pair<int, milliseconds>> failing_;
  Names tries_, effects_;
};

TEST_F(EngineOrderTest, WhatFollowsAFailedMessageWaitsBehindItInTheStore) {
  fail("a1", 2);
  arrive({"a1", "a2", "b1", "a3", "b2"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects_of('a'), Names({"a1", "a2", "a3"}));
  EXPECT_EQ(effects_of('b'), Names({"b1", "b2"}));
  EXPECT_EQ(effects().front(), "b1") << "another key is not held up";
  EXPECT_EQ(observer_.held(), (std::vector<Bytes>{"a2", "a3"}));
  EXPECT_EQ(topic_.unsettled(), 0U);
}

// One of several is too large for the store, so that each is asked for alone: the large one finds
// no room behind a1, and the small one, which would, must not get before it.
TEST_F(EngineOrderTest, WhereOneFindsNoRoomLaterOnesOfItsKeyFindNone) {
  const std::string large = "a2" + std::string(400, '.');
  order_.most_held = large.size();
  fail("a1", 1, milliseconds(300));
  plan_.fail(StoreCall::kHeldBehind, 1, ErrorKind::kLimit, test::When::kBefore);
  arrive({"a1", large, "a3"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects_of('a'), Names({"a1", large, "a3"}));
  EXPECT_EQ(plan_.fired(StoreCall::kHeldBehind), 1U);
}

// A parent whose key is the ordering key of its children.
TEST_F(EngineOrderTest, AMessageWithoutAnOrderingKeyIsInNoOrderWithThoseOfThatName) {
  for (const std::size_t in_flight : {std::size_t{100}, std::size_t{1}}) {
    in_flight_ = in_flight;
    const std::string key = in_flight == 1 ? "b" : "a";
    fail(key + "1");
    arrive({key + "1", key, key + "2"});
    EXPECT_EQ(run(), Ended::kFinished);
    EXPECT_FALSE(std::ranges::count(observer_.held(), key)) << "it waits behind no child";
    Names made = effects_of(key[0]);
    std::erase(made, key);
    EXPECT_EQ(made, Names({key + "1", key + "2"}));
    EXPECT_EQ(effects_of(key[0]).size(), 3U);
  }
}

TEST_F(EngineOrderTest, WhatFailsBehindAFailedOneHoldsTheRest) {
  fail("a1");
  fail("a2", 3);
  fail("a4");
  arrive({"a1", "a2", "a3", "a4", "a5"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), Names({"a1", "a2", "a3", "a4", "a5"}));
}

TEST_F(EngineOrderTest, AMessageThatIsGivenUpHoldsNobody) {
  arrive({"a1", "a2"});
  failing_["a1"] = {1000, milliseconds(1)};
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), Names{"a2"});
  EXPECT_EQ(observer_.count(Outcome::Kind::kDead, "a1"), 1U);
}

TEST_F(EngineOrderTest, BlockHoldsThePartitionAtItsSource) {
  order_.on_failure = OnFailure::kBlock;
  fail("a1", 2);
  arrive({"a1", "a2", "b1", "c1"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), Names({"a1", "a2", "b1", "c1"}));
  EXPECT_TRUE(observer_.held().empty()) << "nothing but the failed one is in the store";
}

TEST_F(EngineOrderTest, BlockHoldsThePartitionWhileNobodyCanSayWhatWaits) {
  order_.on_failure = OnFailure::kBlock;
  // The first failing call is the one at the start.
  plan_.fail(StoreCall::kHeldLines, 2, ErrorKind::kUnavailable, test::When::kBefore);
  fail("a1", 2);
  arrive({"a1", "a2", "b1"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), Names({"a1", "a2", "b1"}));
  EXPECT_EQ(plan_.fired(), 1U);
}

TEST_F(EngineOrderTest, SkipPassesAFailedMessageBy) {
  order_.on_failure = OnFailure::kSkip;
  fail("a1");
  arrive({"a1", "a2"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), Names({"a2", "a1"}));
}

TEST_F(EngineOrderTest, AFullLinePausesItsSourceAndLosesNothing) {
  order_.most_held = 1;
  fail("a1", 3);
  Names ids;
  for (int i = 1; i <= 200; ++i) ids.push_back("a" + std::to_string(i));
  arrive(ids);
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), ids);
  EXPECT_TRUE(observer_.held().empty());
}

TEST_F(EngineOrderTest, WhatWaitsFromAnEarlierRunIsKnownAtTheStart) {
  // Longer than a run takes to begin.
  hold("a1", std::chrono::seconds(1));
  arrive({"a2", "b1"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects_of('a'), Names({"a1", "a2"}));
  EXPECT_EQ(observer_.held(), std::vector<Bytes>{"a2"});
}

// Another process, which received the message from the same source, stores it.
TEST_F(EngineOrderTest, WhatComesToWaitInMidRunIsAskedForWhereLinesAreShared) {
  shares_lines_ = true;
  in_flight_ = 1;
  also_ = [this](const std::string& id) {
    if (id == "b1") hold("a1", std::chrono::seconds(1));
  };
  arrive({"b1", "a2"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), Names({"b1", "a1", "a2"}));
  EXPECT_EQ(observer_.held(), std::vector<Bytes>{"a2"});
}

TEST_F(EngineOrderTest, AQueueIsPutInLineAsItIsTaken) {
  fail("a1", 2);
  std::vector<OutgoingMessage> rows;
  for (const char* id : {"a1", "a2", "b1", "a3"}) rows.emplace_back().payload = payload(id);
  ASSERT_TRUE(memory_->facets().held->append(number_, rows).has_value());
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects_of('a'), Names({"a1", "a2", "a3"}));
  EXPECT_EQ(memory_->facets().held->depth(number_).value().rows, 0U);
}

// Another process works on the message: it is delivered again, and later messages must not overtake
// it.
TEST_F(EngineOrderTest, WhatIsBusyElsewhereIsWaitedFor) {
  const Message first = test::make_message(number_, "a1", payload("a1"));
  const Message* const one = &first;
  const auto claims = memory_->claim({&one, 1}, {milliseconds(300), {}, false});
  ASSERT_TRUE(claims.has_value());
  arrive({"a1", "a2"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects(), Names({"a1", "a2"}));
}

class EngineOrderFaults : public EngineOrderTest, public testing::WithParamInterface<StoreCall> {};

// If a message cannot be put behind, given back or asked for, it is neither lost nor run too early.
TEST_P(EngineOrderFaults, AStoreThatIsAwayForAMomentChangesNoOrder) {
  plan_.fail(GetParam(), 1, ErrorKind::kUnavailable, test::When::kBefore);
  plan_.fail(GetParam(), 2, ErrorKind::kUnavailable, test::When::kBefore);
  fail("a1", 2);
  fail("b2");
  std::vector<OutgoingMessage> rows;
  for (const char* id : {"b1", "b2", "b3", "b4"}) rows.emplace_back().payload = payload(id);
  ASSERT_TRUE(memory_->facets().held->append(number_, rows).has_value());
  arrive({"a1", "a2", "a3"});
  EXPECT_EQ(run(), Ended::kFinished);
  EXPECT_EQ(effects_of('a'), Names({"a1", "a2", "a3"}));
  EXPECT_EQ(effects_of('b'), Names({"b1", "b2", "b3", "b4"}));
  EXPECT_EQ(plan_.fired(), 2U);
}
INSTANTIATE_TEST_SUITE_P(Calls, EngineOrderFaults,
                         testing::Values(StoreCall::kHeldBehind, StoreCall::kHeldRelease,
                                         StoreCall::kHeldTake, StoreCall::kHeldLines,
                                         StoreCall::kFinish));

}  // namespace
}  // namespace semel::engine
