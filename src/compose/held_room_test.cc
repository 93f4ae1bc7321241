// The engine with messages that are stored before they are handled: the store holds no more of them
// than the limit allows.
#include "engine/held_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

#include <semel/memory.h>

#include "compose/test_engine_parts.h"
#include "engine/engine.h"
#include "system/mutex.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"
#include "tests/support/memory_source.h"
#include "tests/support/recording_observer.h"
#include "tests/support/waiting.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;

class HeldRoomTest : public testing::Test {
 protected:
  HeldRoomTest() : store_(make_memory_store()) {
    recipe_.parts.push_back(core::KeyPart::parse("json:/id").value());
    number_ = store_->attach({"orders", recipe_.hash(), false, std::nullopt}).value();
  }

  HeldMessages& held() { return *store_->facets().held; }
  std::size_t depth() { return held().depth(number_).value().rows; }

  void keep(std::size_t count) {
    std::vector<OutgoingMessage> messages(count);
    for (OutgoingMessage& message : messages) message.payload = "{}";
    ASSERT_TRUE(held().append(number_, messages));
  }

  void wait_until_told() {
    EXPECT_TRUE(test::comes_true([&] { return !observer_.notices().empty(); }));
  }

  Ended run(PlainHandler handler) {
    topic_.finish();
    EngineOptions options;
    options.consumer = "orders";
    options.number = number_;
    options.recipe = recipe_;
    options.empty = empty_;
    options.once = true;
    options.defers = true;
    options.pace.max_held = 20;
    options.workers = 1;
    options.pace.batch_max = 7;
    auto parts = test_engine_parts({"orders", number_, *store_, observer_, gate_},
                                   std::make_unique<test::MemorySource>(topic_), handler);
    return Engine::create(std::move(options), std::move(parts))->run();
  }

  std::unique_ptr<Store> store_;
  core::KeyRecipe recipe_;
  core::EmptyPayload empty_ = core::EmptyPayload::kHandle;
  ConsumerNumber number_{};
  test::MemoryTopic topic_;
  test::RecordingObserver observer_;
  system::Mutex gate_;
};

TEST_F(HeldRoomTest, WhatTheSourcesHaveWaitsThereWhileTheStoreHasEnough) {
  for (std::size_t n = 0; n < 200; ++n) {
    topic_.add(test::payload_with_id("k" + std::to_string(n), n));
  }
  std::size_t most = 0;
  std::atomic<int> handled{0};
  const auto handler = [&](const Message&, const Attempt&) -> Verdict {
    if (handled++ == 0) wait_until_told();
    most = std::max(most, depth());
    return done();
  };
  EXPECT_EQ(run(handler), Ended::kFinished);
  EXPECT_EQ(handled, 200);
  EXPECT_EQ(observer_.notices().size(), 1U);
  EXPECT_EQ(observer_.held().size(), 200U) << "each was kept first";
  EXPECT_LE(most, 20U);
  EXPECT_GT(most, 7U) << "and it is made use of";
}

TEST_F(HeldRoomTest, AnEmptyRowGoesWhereEmptyPayloadsAreDiscarded) {
  empty_ = core::EmptyPayload::kDiscard;
  std::vector<OutgoingMessage> messages(3);
  for (std::size_t i = 0; i < messages.size(); ++i) messages[i].key = "k" + std::to_string(i);
  messages[1].payload = "{}";
  ASSERT_TRUE(held().append(number_, messages));
  std::atomic<int> handled{0};
  EXPECT_EQ(run([&](const Message&, const Attempt&) {
              ++handled;
              return done();
            }),
            Ended::kFinished);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(observer_.count(Outcome::Kind::kDiscarded), 2U);
  EXPECT_EQ(depth(), 0U);
}

TEST_F(HeldRoomTest, IsLookedAtAgainOnceItIsUsedUp) {
  const HeldRoom::TimePoint start{};
  HeldRoom room(&held(), number_, 20);
  keep(15);
  EXPECT_EQ(room.look(start).value(), 5U);
  room.take(3);
  keep(3);
  EXPECT_EQ(room.look(start).value(), 2U) << "of what it knows";
  room.take(4);
  keep(4);
  EXPECT_EQ(room.look(start).value(), 0U);
  EXPECT_EQ(room.again_at(), start + milliseconds(500));
  const auto rows = held().take(number_, 10, 1 << 20, std::chrono::seconds(9)).value();
  for (const Arrival& row : rows) ASSERT_TRUE(held().remove({{*row.row}}));
  EXPECT_EQ(room.look(start + milliseconds(499)).value(), 0U);
  EXPECT_EQ(room.look(start + milliseconds(500)).value(), 8U);
  EXPECT_FALSE(room.again_at());
}

TEST_F(HeldRoomTest, WithoutALimitNobodyIsAsked) {
  HeldRoom room(nullptr, number_, 20);
  EXPECT_GT(room.look({}).value(), 1'000'000U);
  HeldRoom unlimited(&held(), number_, 0);
  EXPECT_GT(unlimited.look({}).value(), 1'000'000U);
  EXPECT_FALSE(unlimited.again_at());
}

}  // namespace
}  // namespace semel::engine
