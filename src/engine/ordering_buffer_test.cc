// Messages that the store refuses, where they would have to wait in it.
#include <gtest/gtest.h>

#include "engine/test_engine.h"
#include "tests/support/fault_store.h"

namespace semel::engine {
namespace {

using test::FaultPlan;
using test::StoreCall;
using test::When;
using Kind = Outcome::Kind;

class OrderingBufferTest : public EngineTest {
 protected:
  std::vector<DeadLetter> letters() { return store_->facets().dead_letters->list({}).value(); }

  FaultPlan faults_;
  std::unique_ptr<Store> faulty_ = test::make_fault_store(*store_, faults_);
};

TEST_F(OrderingBufferTest, WhatCannotWaitBehindAnotherIsADeadLetterWithoutItsPayload) {
  options_.order = core::Order{};
  options_.recipe.parts.push_back(core::KeyPart::parse("json:/n").value());
  options_.order->key = core::KeyPart::parse("json:/id").value();
  options_.batch_first = options_.pace.batch_max = 1;
  send("line", 1);
  send("line", 2);
  send("other", 1);
  topic_.finish();
  faults_.fail_always(StoreCall::kHeldBehind, ErrorKind::kLimit, When::kBefore);
  auto running = engine(
      [](core::TrackedDelivery& delivery, std::size_t) {
        return ended(delivery.message.key().text.find("other") == Bytes::npos ? Kind::kRetry
                                                                              : Kind::kDone);
      },
      true, faulty_.get());
  EXPECT_EQ(running->run(), Ended::kFinished);
  EXPECT_EQ(topic_.unsettled(), 0U);
  EXPECT_GE(faults_.fired(StoreCall::kHeldBehind), 2U) << "all, and each alone";
  ASSERT_EQ(letters().size(), 1U);
  EXPECT_EQ(letters().front().reason, reason::kTooLarge);
  EXPECT_EQ(letters().front().payload, "");
  EXPECT_EQ(seen_.count(Kind::kDead), 1U);
  EXPECT_EQ(seen_.count(Kind::kDone), 1U);
}

// Nothing but this asks the store where messages are only received.
TEST_F(OrderingBufferTest, AStoreThatIsBackIsToldOfWhereMessagesAreOnlyReceived) {
  options_.defers = true;
  send("a");
  topic_.finish();
  faults_.fail(StoreCall::kFinish, 1, ErrorKind::kUnavailable, When::kBefore);
  const auto unused = [](core::TrackedDelivery&, std::size_t) { return ended(Kind::kDone); };
  EXPECT_EQ(engine(unused, true, faulty_.get())->run(), Ended::kFinished);
  const auto troubles = seen_.troubles();
  ASSERT_EQ(troubles.size(), 2U);
  EXPECT_FALSE(troubles[0].mended);
  EXPECT_TRUE(troubles[1].mended);
}

TEST_F(OrderingBufferTest, WhatCannotBeDeferredIsOneToo) {
  options_.defers = true;
  send("a");
  send("b");
  topic_.finish();
  faults_.fail(StoreCall::kFinish, 1, ErrorKind::kLimit, When::kBefore);
  faults_.fail(StoreCall::kFinish, 2, ErrorKind::kLimit, When::kBefore);
  auto running = engine([](core::TrackedDelivery&, std::size_t) { return ended(Kind::kDone); },
                        true, faulty_.get());
  EXPECT_EQ(running->run(), Ended::kFinished);
  EXPECT_EQ(topic_.unsettled(), 0U);
  ASSERT_EQ(letters().size(), 1U);
  EXPECT_EQ(letters().front().reason, reason::kTooLarge);
  EXPECT_EQ(seen_.count(Kind::kDead), 1U);
}

}  // namespace
}  // namespace semel::engine
