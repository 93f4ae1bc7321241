#include "traces/traced_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/memory.h>

#include "tests/support/fault_store.h"
#include "tests/support/test_environment.h"
#include "traces/lease_spans.h"
#include "traces/test_sink.h"

namespace semel::traces {
namespace {

class TracedStoreTest : public testing::Test {
 protected:
  TracedStoreTest()
      : inner_(make_memory_store({})),
        store_(traced(test::make_fault_store(*inner_, plan_), tracer_)) {
    ConsumerSpec spec;
    spec.name = "orders";
    number_ = store_->attach(spec).value();
  }

  test::SeededRandom random_{1};
  KeptSpans spans_;
  Tracer tracer_{spans_, {"shop", 1.0}, random_};
  test::FaultPlan plan_;
  const std::unique_ptr<Store> inner_;
  const std::unique_ptr<Store> store_;
  ConsumerNumber number_{};
};

TEST_F(TracedStoreTest, ClaimAndFinishAreChildrenOfTheDelivery) {
  const Message traced_one = traced_message(number_, "k-1");
  const Message other = test::make_message(number_, "k-2");
  const Message* const batch[] = {&traced_one, &other};
  const auto claims = store_->claim(batch, {});
  ASSERT_TRUE(claims);
  std::vector<Finish> finishes;
  for (const Claim& claim : *claims) {
    finishes.push_back(test::completed(std::get<Acquired>(claim).lease));
  }
  ASSERT_TRUE(store_->finish(finishes));
  const auto all = spans_.all();
  ASSERT_EQ(all.size(), 2U) << "the other one is not traced";
  EXPECT_EQ(all[0].name, "store claim");
  EXPECT_EQ(all[1].name, "store finish");
  for (const Span& span : all) {
    EXPECT_EQ(span.kind, Span::Kind::kClient);
    EXPECT_EQ(span.context.trace_id, traced_one.span()->context.trace_id);
    ASSERT_TRUE(span.parent);
    EXPECT_EQ(*span.parent, traced_one.span()->context.span_id);
    EXPECT_EQ(attribute(span, "db.system.name"), "memory");
    EXPECT_EQ(attribute(span, "db.operation.batch.size"), "2");
    EXPECT_EQ(span.error, "");
  }
  EXPECT_EQ(attribute(all[1], "db.operation.name"), "finish");
}

TEST_F(TracedStoreTest, ACallThatFailedSaysItsCode) {
  const Message one = traced_message(number_, "k-1");
  const Message* const batch[] = {&one};
  plan_.fail(test::StoreCall::kClaim, 1, ErrorKind::kUnavailable, test::When::kBefore);
  const auto claims = store_->claim(batch, {});
  ASSERT_FALSE(claims);
  ASSERT_EQ(spans_.all().size(), 1U);
  EXPECT_EQ(spans_.all()[0].error, claims.error().code.empty() ? "failed" : claims.error().code);
  EXPECT_EQ(attribute(spans_.all()[0], "db.operation.batch.size"), "(none)") << "one is no batch";
}

TEST_F(TracedStoreTest, WhatIsNotTracedLeavesNothing) {
  const Message one = test::make_message(number_, "k-1");
  const Message* const batch[] = {&one};
  const auto claims = store_->claim(batch, {});
  ASSERT_TRUE(claims);
  const Finish finish = test::completed(std::get<Acquired>(claims->front()).lease);
  ASSERT_TRUE(store_->finish({&finish, 1}));
  EXPECT_TRUE(spans_.all().empty());
}

TEST(LeaseSpans, ForgetsThoseWhoseMessagesAreGone) {
  LeaseSpans spans;
  const auto living = std::make_shared<DeliverySpan>();
  Lease lease;
  for (unsigned i = 0; i < 100'000; ++i) {
    for (unsigned byte = 0; byte < 4; ++byte) {
      lease.nonce.bytes[byte] = static_cast<unsigned char>(i >> (8 * byte));
    }
    spans.add(lease, i == 7 ? living : std::make_shared<const DeliverySpan>());
  }
  EXPECT_LT(spans.size(), 5'000U);
  EXPECT_EQ(spans.find(lease), nullptr) << "its message is gone";
  lease.nonce.bytes = {7, 0, 0, 0};
  EXPECT_EQ(spans.find(lease), living);
}

}  // namespace
}  // namespace semel::traces
