#include "sources/sqs/ledger.h"

#include <gtest/gtest.h>

namespace semel::sqs {
namespace {

using namespace std::chrono_literals;
using Kind = Settlement::Kind;
using TimePoint = Ledger::TimePoint;

constexpr TimePoint kBegin{};

class SqsLedger : public ::testing::Test {
 protected:
  void bring(int count, TimePoint now = kBegin, const std::string& group = {}) {
    for (int i = 0; i < count; ++i) {
      auto arrival = std::make_unique<Arrival>();
      if (!group.empty()) arrival->headers.push_back({"sqs-message-group-id", group});
      arrival->position = "m-" + std::to_string(next_);
      ledger_.arrived(std::move(arrival), "r-" + std::to_string(next_++), now);
    }
  }
  std::string taken(TimePoint now = kBegin) {
    const auto made = ledger_.take(now);
    return made.arrival == nullptr ? "none" : made.arrival->position;
  }

  Ledger ledger_{30s};
  int next_ = 1;
};

TEST_F(SqsLedger, WhatIsAckedIsDeletedInBatches) {
  bring(12);
  for (std::uint64_t tag = 1; tag <= 12; ++tag) {
    EXPECT_EQ(ledger_.take(kBegin).tag, tag);
    EXPECT_TRUE(ledger_.settle(tag, Kind::kAck));
  }
  EXPECT_EQ(ledger_.deletes(), 12U);
  auto first = ledger_.take_deletes();
  ASSERT_EQ(first.size(), core::kSqsBatch);
  EXPECT_EQ(first[0], "r-1");
  EXPECT_EQ(ledger_.take_deletes(), (std::vector<std::string>{"r-11", "r-12"}));
  ledger_.put_back({first[3]});
  EXPECT_EQ(ledger_.take_deletes(), std::vector<std::string>{"r-4"}) << "and is tried again";
  EXPECT_TRUE(ledger_.take_deletes().empty());
  EXPECT_EQ(ledger_.open(), 0U);
}

TEST_F(SqsLedger, LetsGoOfWhatWaitsAndRenewsNothingThatIsOut) {
  bring(3);
  EXPECT_EQ(taken(), "m-1");
  EXPECT_EQ(taken(), "m-2");
  EXPECT_TRUE(ledger_.settle(2, Kind::kRelease));
  ledger_.let_go();
  EXPECT_EQ(ledger_.take_forgotten(), (std::vector<std::string>{"r-2", "r-3"}));
  EXPECT_EQ(taken(), "none");
  EXPECT_FALSE(ledger_.renewal_due().has_value());
  EXPECT_TRUE(ledger_.settle(1, Kind::kAck));
  EXPECT_EQ(ledger_.take_deletes(), std::vector<std::string>{"r-1"});
}

TEST_F(SqsLedger, WhatIsGivenBackWaitsHere) {
  bring(3);
  EXPECT_EQ(taken(), "m-1");
  EXPECT_EQ(taken(), "m-2");
  EXPECT_TRUE(ledger_.settle(1, Kind::kRelease));
  EXPECT_EQ(ledger_.deletes(), 0U);
  EXPECT_EQ(taken(), "m-1") << "before what came later";
  EXPECT_EQ(taken(), "m-3");
  EXPECT_EQ(taken(), "none");
  EXPECT_FALSE(ledger_.settle(4, Kind::kAck)) << "unknown";
  EXPECT_TRUE(ledger_.settle(3, Kind::kAck));
  EXPECT_FALSE(ledger_.settle(3, Kind::kAck)) << "settled before";
}

TEST_F(SqsLedger, WhatIsOpenIsRenewedWhenAThirdOfItsTimeIsGone) {
  bring(1);
  EXPECT_TRUE(ledger_.take_renewals(kBegin + 9s).empty());
  EXPECT_EQ(ledger_.renewal_due(), kBegin + 10s);
  const auto renewals = ledger_.take_renewals(kBegin + 10s);
  ASSERT_EQ(renewals.size(), 1U);
  EXPECT_EQ(renewals[0].receipt, "r-1");
  EXPECT_EQ(renewals[0].by, 30s);
  EXPECT_TRUE(ledger_.take_renewals(kBegin + 20s).empty()) << "it is under way";
  EXPECT_FALSE(ledger_.renewal_due().has_value());
  ledger_.renewed(renewals[0], Ledger::Renewed::kNotNow, kBegin + 10s, kBegin + 11s);
  EXPECT_TRUE(ledger_.take_renewals(kBegin + 11s).empty()) << "not at once: each try costs money";
  EXPECT_EQ(ledger_.renewal_due(), kBegin + 12s) << "again";
  const auto again = ledger_.take_renewals(kBegin + 12s);
  ledger_.renewed(again.at(0), Ledger::Renewed::kYes, kBegin + 12s, kBegin + 13s);
  EXPECT_EQ(ledger_.renewal_due(), kBegin + 22s);
  EXPECT_EQ(taken(kBegin + 41s), "m-1") << "hidden until 42 s";
}

TEST_F(SqsLedger, WhatIsNotHiddenAnyMoreIsForgottenUnlessItIsOut) {
  bring(2);
  EXPECT_EQ(taken(), "m-1");
  EXPECT_EQ(taken(kBegin + 30s), "none") << "somebody receives m-2 again";
  EXPECT_EQ(ledger_.open(), 1U);
  EXPECT_TRUE(ledger_.settle(1, Kind::kAck)) << "its deletion is worth a try";
  EXPECT_EQ(ledger_.take_deletes(), std::vector<std::string>{"r-1"});
}

TEST_F(SqsLedger, AReceiptThatMeansNothingIsNotRenewedAgain) {
  bring(1);
  const auto renewals = ledger_.take_renewals(kBegin + 10s);
  ledger_.renewed(renewals.at(0), Ledger::Renewed::kGone, kBegin + 10s, kBegin + 11s);
  EXPECT_FALSE(ledger_.renewal_due().has_value());
  EXPECT_EQ(taken(kBegin + 11s), "none");
}

// The service blocks the forgotten message behind these, so they would have their effect first.
TEST_F(SqsLedger, WhatIsForgottenTakesAlongAllThatWaitsBehindItInItsGroup) {
  bring(1, kBegin, "a");
  bring(1, kBegin, "b");
  bring(2, kBegin + 20s, "a");
  bring(1, kBegin + 20s, "b");
  EXPECT_EQ(taken(kBegin + 20s), "m-1");
  EXPECT_TRUE(ledger_.settle(1, Kind::kRelease));
  EXPECT_EQ(taken(kBegin + 31s), "none") << "m-3 and m-4 behind m-1, m-5 behind m-2";
  EXPECT_EQ(ledger_.open(), 0U);
  EXPECT_EQ(ledger_.take_forgotten(),
            (std::vector<std::string>{"r-1", "r-3", "r-4", "r-2", "r-5"}));
  EXPECT_TRUE(ledger_.take_forgotten().empty());
  EXPECT_FALSE(ledger_.renewal_due().has_value());
  bring(1, kBegin + 31s, "a");
  EXPECT_EQ(taken(kBegin + 31s), "m-6") << "the group goes on";
}

TEST_F(SqsLedger, WhatIsOutIsNotTakenAlong) {
  bring(1, kBegin, "a");
  bring(1, kBegin + 20s, "a");
  EXPECT_EQ(taken(), "m-1");
  EXPECT_EQ(taken(), "m-2");
  EXPECT_TRUE(ledger_.settle(1, Kind::kRelease));
  EXPECT_EQ(taken(kBegin + 31s), "none");
  EXPECT_EQ(ledger_.take_forgotten(), std::vector<std::string>{"r-1"});
  EXPECT_TRUE(ledger_.settle(2, Kind::kAck));
}

TEST_F(SqsLedger, WhatWasRefusedWholeIsDeletedOneByOne) {
  bring(3);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    EXPECT_EQ(ledger_.take(kBegin).tag, tag);
    EXPECT_TRUE(ledger_.settle(tag, Kind::kAck));
  }
  ledger_.put_back_alone(ledger_.take_deletes());
  EXPECT_EQ(ledger_.deletes(), 3U);
  for (const char* receipt : {"r-1", "r-2", "r-3"}) {
    EXPECT_EQ(ledger_.take_deletes(), std::vector<std::string>{receipt});
  }
  EXPECT_EQ(ledger_.deletes(), 0U);
}

TEST_F(SqsLedger, WhatWasRefusedWholeIsRenewedOneByOne) {
  bring(2);
  for (const auto& renewal : ledger_.take_renewals(kBegin + 10s)) {
    ledger_.renewed(renewal, Ledger::Renewed::kAlone, kBegin + 10s, kBegin + 11s);
  }
  const auto first = ledger_.take_renewals(kBegin + 11s);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].receipt, "r-1");
  const auto second = ledger_.take_renewals(kBegin + 11s);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].receipt, "r-2");
}

TEST_F(SqsLedger, ARenewalThatCrossesItsDeletionSaysNothing) {
  bring(1);
  EXPECT_EQ(taken(), "m-1");
  const auto renewals = ledger_.take_renewals(kBegin + 10s);
  EXPECT_TRUE(ledger_.settle(1, Kind::kAck));
  EXPECT_FALSE(ledger_.renewed(renewals.at(0), Ledger::Renewed::kGone, kBegin + 10s, kBegin + 11s));
}

TEST_F(SqsLedger, NothingIsHiddenForLongerThanTheServiceAllows) {
  bring(1);
  TimePoint now = kBegin;
  std::size_t renewals = 0;
  for (auto due = ledger_.renewal_due(); due; due = ledger_.renewal_due()) {
    now = *due;
    const auto taken_now = ledger_.take_renewals(now);
    if (taken_now.empty()) break;
    EXPECT_LE(now + taken_now[0].by, kBegin + core::kSqsLongestHidden);
    ledger_.renewed(taken_now[0], Ledger::Renewed::kYes, now, now);
    ++renewals;
  }
  EXPECT_GT(renewals, 4'000U);
  EXPECT_EQ(taken(kBegin + core::kSqsLongestHidden), "none");
}

TEST_F(SqsLedger, WhatIsOpenAtTheEndIsGivenToOthers) {
  bring(12);
  EXPECT_EQ(taken(), "m-1");
  EXPECT_TRUE(ledger_.settle(1, Kind::kAck));
  EXPECT_EQ(taken(), "m-2");
  EXPECT_EQ(ledger_.take_open().size(), core::kSqsBatch);
  EXPECT_EQ(ledger_.take_open(), std::vector<std::string>{"r-12"});
  EXPECT_TRUE(ledger_.take_open().empty());
}

}  // namespace
}  // namespace semel::sqs
