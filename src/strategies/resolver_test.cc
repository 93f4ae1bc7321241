#include "strategies/resolver.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/builders.h"
#include "tests/support/test_environment.h"

namespace semel::strategies {
namespace {

constexpr ConsumerNumber kOrders{1};
constexpr ConsumerNumber kAudit{7};
constexpr ConsumerNumber kMails{8};

class ResolverTest : public testing::Test {
 protected:
  ResolverTest() {
    context_.consumer = "orders";
    context_.environment = &environment_.get();
    context_.destinations = {{"audit", {kAudit}}, {"mails", {kMails}}};
  }
  // The keys of what leaves, in its order, with the receivers' numbers before them.
  std::vector<std::string> sent(const std::string& key, const std::vector<std::string>& published) {
    const core::TrackedDelivery delivery = test::make_delivery(kOrders, key, "{}");
    Decision decision;
    for (const std::string& destination : published) {
      decision.publications.push_back({destination, {}});
    }
    ClaimInfo claim;
    claim.lease = Lease{delivery.message.key().id, Token{1}, {}};
    const Resolution resolution = Resolver(context_, false).of_decision(claim, decision, delivery);
    std::vector<std::string> keys;
    for (const Outgoing& one : resolution.finish->outgoing) {
      keys.push_back(std::to_string(static_cast<std::uint32_t>(one.to)) + ":" +
                     one.message.key.value_or("none"));
    }
    return keys;
  }

  test::TestEnvironment environment_;
  Context context_;
};

TEST_F(ResolverTest, WhatIsForwardedHasTheMessagesKey) {
  context_.forward_to = {{kAudit}, {kMails}};
  EXPECT_EQ(sent("17", {}), (std::vector<std::string>{"7:17", "8:17"}));
}

// The receiver would take the second for a copy of the first, and lose it.
TEST_F(ResolverTest, WhatIsForwardedAndWhatIsPublishedShareNoKey) {
  context_.forward_to = {{kAudit}};
  EXPECT_EQ(sent("17", {"audit", "mails", "audit"}),
            (std::vector<std::string>{"7:17", "8:17", "7:17/2", "7:17/3"}));
  EXPECT_EQ(sent("17/2", {"audit"}), (std::vector<std::string>{"7:17/2/1", "7:17/2/2"}));
}

TEST_F(ResolverTest, WhereOthersSendTooTheSenderIsInTheKey) {
  context_.forward_to = {{kAudit, true}, {kMails}};
  EXPECT_EQ(sent("17", {}), (std::vector<std::string>{"7:orders/17", "8:17"}));
  context_.destinations.at("audit").shared = true;
  EXPECT_EQ(sent("17", {"audit"}),
            (std::vector<std::string>{"7:orders/17", "7:orders/17/2", "8:17"}));
}

}  // namespace
}  // namespace semel::strategies
