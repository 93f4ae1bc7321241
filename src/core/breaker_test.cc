#include "core/breaker.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace semel::core {
namespace {

using std::chrono::milliseconds;

constexpr Breaker::Options kOptions = {3, milliseconds(100), milliseconds(500)};

// Failures of one message each, which use up no attempt: calls that are refused.
std::optional<milliseconds> refused(Breaker& breaker, Breaker::Ticket call) {
  return breaker.failed(call, 1, false).shut;
}
std::optional<milliseconds> refused(Breaker& breaker) { return refused(breaker, breaker.begin()); }
// A 5xx answer to a message.
Breaker::Failure broken(Breaker& breaker, Breaker::MessageId message) {
  return breaker.failed(breaker.begin(), message, true);
}

TEST(Breaker, ShutsAfterSeveralFailuresInARow) {
  Breaker breaker(kOptions);
  EXPECT_FALSE(refused(breaker));
  EXPECT_FALSE(refused(breaker));
  EXPECT_TRUE(breaker.answered(breaker.begin()));
  EXPECT_FALSE(refused(breaker));
  EXPECT_FALSE(refused(breaker));
  EXPECT_EQ(refused(breaker), milliseconds(100));
}

TEST(Breaker, ShutsWhereMostCallsFailThoughOneGoesWellNowAndThen) {
  Breaker breaker;
  int shut = 0;
  for (Breaker::MessageId i = 1; i <= 60; ++i) {
    if (i % 8 == 0) {
      breaker.answered(breaker.begin(), i);
    } else if (broken(breaker, i).shut) {
      ++shut;
    }
  }
  EXPECT_GT(shut, 0) << "never ten in a row";
  Breaker half;
  for (Breaker::MessageId i = 1; i <= 60; ++i) {
    if (i % 2 == 0) {
      half.answered(half.begin(), i);
    } else {
      EXPECT_FALSE(broken(half, i).shut) << "one in two may be the messages' own fault";
    }
  }
}

TEST(Breaker, AFailureThatMostMessagesShareIsNoMessagesOwn) {
  Breaker breaker(kOptions);
  for (Breaker::MessageId i = 1; i <= 3; ++i) EXPECT_FALSE(broken(breaker, i).shared) << i;
  const auto fourth = broken(breaker, 4);
  EXPECT_TRUE(fourth.shared);
  EXPECT_GT(fourth.again_after, fourth.shut.value()) << "others at the gate come before it";
  EXPECT_TRUE(broken(breaker, 1).shared) << "whichever it is";
  EXPECT_TRUE(breaker.answered(breaker.begin(), 8));
  EXPECT_TRUE(breaker.answered(breaker.begin(), 9));
  EXPECT_FALSE(broken(breaker, 5).shared) << "it works for others";
}

TEST(Breaker, FewMessagesThatFailAgainAndAgainAreSpent) {
  Breaker breaker(kOptions);
  for (Breaker::MessageId i = 0; i < 100; ++i) {
    const auto failure = broken(breaker, 1 + i % 2);
    EXPECT_FALSE(failure.shared) << i;
    EXPECT_FALSE(failure.shut) << i;
  }
}

// The messages that cannot succeed remain when all others are done.
TEST(Breaker, WhatFailsWhereOthersGoWellIsNoEvidence) {
  Breaker breaker(kOptions);
  for (Breaker::MessageId i = 1; i <= 20; ++i) {
    EXPECT_FALSE(broken(breaker, i).shut) << i;
    EXPECT_TRUE(breaker.answered(breaker.begin(), 100 + i));
  }
  for (int round = 0; round < 8; ++round) {
    for (Breaker::MessageId i = 1; i <= 20; ++i) {
      const auto failure = broken(breaker, i);
      EXPECT_FALSE(failure.shut) << i;
      EXPECT_FALSE(failure.shared) << i;
    }
  }
}

TEST(Breaker, AMessageThatWentWellAfterAllIsEvidenceAnew) {
  Breaker breaker(kOptions);
  for (Breaker::MessageId i = 1; i <= 2; ++i) broken(breaker, i);
  for (Breaker::MessageId i = 1; i <= 9; ++i) breaker.answered(breaker.begin(), i);
  for (Breaker::MessageId i = 1; i <= 2; ++i) EXPECT_FALSE(broken(breaker, i).shut) << i;
  EXPECT_TRUE(broken(breaker, 3).shut);
}

TEST(Breaker, ACallFromBeforeTheShutIsLate) {
  Breaker breaker(kOptions);
  const auto early = breaker.begin();
  for (int i = 0; i < 3; ++i) refused(breaker);
  EXPECT_TRUE(breaker.failed(early, 7, true).late);
  EXPECT_FALSE(broken(breaker, 8).late) << "the trial";
}

TEST(Breaker, GrowsWithEachTrialThatFailsUpToItsCap) {
  Breaker breaker(kOptions);
  refused(breaker);
  refused(breaker);
  std::vector<int> lengths;
  for (int i = 0; i < 6; ++i) {
    lengths.push_back(static_cast<int>(refused(breaker)->count()));
  }
  EXPECT_EQ(lengths, (std::vector<int>{100, 200, 400, 500, 500, 500}));
  EXPECT_TRUE(breaker.answered(breaker.begin()));
  EXPECT_EQ(refused(breaker), milliseconds(100)) << "most of the last answers were failures";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(breaker.answered(breaker.begin()));
  EXPECT_FALSE(refused(breaker)) << "successes begin anew";
  EXPECT_FALSE(refused(breaker));
  EXPECT_EQ(refused(breaker), milliseconds(100));
}

TEST(Breaker, CallsThatFailTogetherShutItOnce) {
  Breaker breaker(kOptions);
  std::vector<Breaker::Ticket> calls(500);
  for (auto& call : calls) call = breaker.begin();
  int shut = 0;
  for (const auto call : calls) shut += refused(breaker, call) ? 1 : 0;
  EXPECT_EQ(shut, 1);
  EXPECT_EQ(refused(breaker), milliseconds(200)) << "the trial";
}

TEST(Breaker, ASuccessFromBeforeTheShutDoesNotOpen) {
  Breaker breaker(kOptions);
  const auto early = breaker.begin();
  EXPECT_EQ(breaker.at_fault(breaker.begin()), milliseconds(100));
  EXPECT_FALSE(breaker.answered(early));
  EXPECT_EQ(breaker.at_fault(breaker.begin()), milliseconds(200));
  EXPECT_TRUE(breaker.answered(breaker.begin()));
}

TEST(Breaker, AFaultShutsAtOnceAndItsTrialMayNotFail) {
  Breaker breaker(kOptions);
  EXPECT_EQ(breaker.at_fault(breaker.begin()), milliseconds(100));
  EXPECT_EQ(refused(breaker), milliseconds(200));
}

TEST(Breaker, ADenialIsTheMessagesOwnOnceOthersWentWell) {
  Breaker breaker(kOptions);
  const auto in_flight = breaker.begin();
  const auto first = breaker.denied(breaker.begin(), 1);
  EXPECT_EQ(first.shut, milliseconds(100));
  EXPECT_FALSE(first.own);
  breaker.answered(in_flight, 2);
  for (int i = 0; i < 9; ++i) {
    const auto again = breaker.denied(breaker.begin(), 1);
    EXPECT_TRUE(again.own) << i << ": no other success is needed";
    EXPECT_FALSE(again.shut) << i;
  }
  breaker.answered(breaker.begin(), 1);
  EXPECT_FALSE(breaker.denied(breaker.begin(), 1).own) << "it went well after all";
}

TEST(Breaker, AMessagesOwnSuccessIsNoOthers) {
  Breaker breaker(kOptions);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(breaker.denied(breaker.begin(), 1).own) << i;
    breaker.answered(breaker.begin(), 1);
  }
}

TEST(Breaker, ADenialIsNobodysOwnWhileAnotherMessageIsDeniedToo) {
  Breaker breaker(kOptions);
  breaker.denied(breaker.begin(), 1);
  breaker.answered(breaker.begin(), 2);
  EXPECT_TRUE(breaker.denied(breaker.begin(), 1).own);
  const auto other = breaker.denied(breaker.begin(), 3);
  EXPECT_TRUE(other.shut);
  EXPECT_FALSE(other.confirmed) << "it alone says so";
  const auto spared = breaker.denied(breaker.begin(), 1);
  EXPECT_FALSE(spared.own);
  EXPECT_FALSE(spared.shut) << "that is left to the others";
  EXPECT_TRUE(breaker.denied(breaker.begin(), 4).confirmed);
  breaker.answered(breaker.begin(), 2);
  EXPECT_TRUE(breaker.denied(breaker.begin(), 1).own);
}

TEST(Breaker, ManyThatAreDeniedInARowAreTheEndpointsFault) {
  Breaker breaker(kOptions);
  for (Breaker::MessageId i = 1; i <= 8; ++i) breaker.denied(breaker.begin(), i);
  breaker.answered(breaker.begin(), 9);
  EXPECT_TRUE(breaker.denied(breaker.begin(), 1).own);
  EXPECT_TRUE(breaker.denied(breaker.begin(), 2).own);
  EXPECT_TRUE(breaker.denied(breaker.begin(), 1).own) << "the same one again";
  for (Breaker::MessageId i = 1; i <= 8; ++i) {
    if (i == 2) continue;
    const auto denial = breaker.denied(breaker.begin(), i == 1 ? 3 : i);
    EXPECT_FALSE(denial.own) << i;
    EXPECT_TRUE(denial.shut) << i;
  }
  EXPECT_FALSE(breaker.denied(breaker.begin(), 1).own);
}

TEST(Breaker, CallsThatAreDeniedTogetherConfirmNothing) {
  Breaker breaker(kOptions);
  const auto one = breaker.begin();
  const auto other = breaker.begin();
  EXPECT_TRUE(breaker.denied(one, 1).shut);
  const auto late = breaker.denied(other, 2);
  EXPECT_FALSE(late.confirmed);
  EXPECT_FALSE(late.shut);
  EXPECT_FALSE(breaker.denied(breaker.begin(), 1).confirmed) << "its own word again";
  EXPECT_TRUE(breaker.denied(breaker.begin(), 2).confirmed);
}

TEST(Breaker, WaitsAsLongAsAskedWithinBounds) {
  Breaker breaker(kOptions);
  const auto early = breaker.begin();
  EXPECT_EQ(breaker.asked_to_wait(milliseconds(300)), milliseconds(300));
  EXPECT_EQ(breaker.asked_to_wait(milliseconds(90'000)), milliseconds(500));
  EXPECT_EQ(breaker.asked_to_wait(milliseconds(-5)), milliseconds(0));
  EXPECT_FALSE(breaker.answered(early)) << "it asked after that call was begun";
  EXPECT_TRUE(breaker.answered(breaker.begin()));
}

}  // namespace
}  // namespace semel::core
