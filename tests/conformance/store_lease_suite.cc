// Store: a claim that is repeated under its own nonce, and calls with two leases of one key.
#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

constexpr std::uint64_t kNumber = 7;
constexpr std::uint64_t kAnother = 8;
constexpr const char* kCannot = "no test can set the random numbers of this store";

TEST_P(StoreSuite, ARepeatedClaimIsAnsweredAsBeforeAndItsLeaseBeginsAnew) {
  if (!place().draw_only(std::nullopt)) GTEST_SKIP() << kCannot;
  const Message m = message("m-1");
  const Acquired first = acquire_by(kNumber, m);
  advance(kLease - 5s);
  const Acquired again = acquire_by(kNumber, m);
  EXPECT_EQ(again.lease.token, first.lease.token);
  EXPECT_EQ(again.lease.nonce, first.lease.nonce);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_FALSE(again.taken_over);
  advance(kLease - 5s);
  EXPECT_TRUE(is<Busy>(claim(m)));
  EXPECT_EQ(finish(test::completed(again.lease)), Applied::kYes);
}

// An outage that is longer than the lease: its first answer was lost, so nothing was begun.
TEST_P(StoreSuite, ARepeatedClaimHasAWholeLeaseAlsoWhereItsFirstHasEnded) {
  if (!place().draw_only(std::nullopt)) GTEST_SKIP() << kCannot;
  const Message m = message("m-1");
  const Acquired first = acquire_by(kNumber, m);
  advance(kPastLease);
  const Acquired again = acquire_by(kNumber, m);
  EXPECT_EQ(again.lease.token, first.lease.token);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_FALSE(again.taken_over);
  EXPECT_FALSE(again.lease_ended);
  EXPECT_TRUE(is<Busy>(claim(m))) << "a second holder beside the first";
  advance(kPastLease);
  const Acquired second = acquire(m);
  EXPECT_TRUE(second.taken_over);
  EXPECT_EQ(finish(test::completed(again.lease)), Applied::kLeaseLost);
  EXPECT_EQ(finish(test::completed(second.lease)), Applied::kYes);
}

TEST_P(StoreSuite, ARepeatedClaimIsBusyWhereAnotherTookItsPlace) {
  if (!place().draw_only(std::nullopt)) GTEST_SKIP() << kCannot;
  const Message m = message("m-1");
  acquire_by(kNumber, m);
  advance(kPastLease);
  const Acquired second = acquire_by(kAnother, m);
  EXPECT_TRUE(second.taken_over);
  const Claim answer = claim_by(kNumber, m);
  EXPECT_TRUE(is<Busy>(answer)) << describe(answer);
  EXPECT_EQ(finish(test::completed(second.lease)), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim_by(kNumber, m)));
  EXPECT_TRUE(is<Completed>(claim_by(kAnother, m)));
}

// One may hold it, so the answer to one says nothing about the other.
TEST_P(StoreSuite, TwoLeasesOfOneKeyInOneCallAreEachRenewedOrLost) {
  const Message m = message("m-1");
  const Lease late = acquire(m).lease;
  advance(kPastLease);
  const Lease now = acquire(m).lease;
  const Lease other = acquire(message("m-2")).lease;
  using Leases = std::vector<Lease>;
  using Answers = std::vector<Applied>;
  EXPECT_EQ(store().renew(Leases{late, other, now}, kLease).value(),
            (Answers{Applied::kLeaseLost, Applied::kYes, Applied::kYes}));
  EXPECT_EQ(store().renew(Leases{now, other, late}, kLease).value(),
            (Answers{Applied::kYes, Applied::kYes, Applied::kLeaseLost}));
}

TEST_P(StoreSuite, TwoLeasesOfOneKeyInOneBatchAreEachAppliedOrLost) {
  for (const Bytes result : {"", "a result"}) {
    for (const bool late_first : {true, false}) {
      SCOPED_TRACE(result + (late_first ? ": the late holder first" : ": the late holder last"));
      const Message m = message("m-" + result + (late_first ? "1" : "2"));
      const Message other = message("n-" + result + (late_first ? "1" : "2"));
      const Lease late = acquire(m).lease;
      advance(kPastLease);
      std::vector<Finish> batch = {test::completed(late, result),
                                   test::completed(acquire(other).lease, result),
                                   test::completed(acquire(m).lease, result)};
      std::vector<Applied> expected = {Applied::kLeaseLost, Applied::kYes, Applied::kYes};
      if (!late_first) {
        std::swap(batch.front(), batch.back());
        std::swap(expected.front(), expected.back());
      }
      EXPECT_EQ(store().finish(batch).value(), expected);
      const Claim done = claim(m, {kLease, {}, true});
      ASSERT_TRUE(is<Completed>(done)) << describe(done);
      EXPECT_EQ(std::get<Completed>(done).result, result);
      EXPECT_TRUE(is<Completed>(claim(other)));
    }
  }
}

}  // namespace
}  // namespace semel::conformance
