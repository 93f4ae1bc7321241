// Checks of a test bed on Redis after all work is done.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/chaos/test_bed.h"
#include "tests/support/ledger.h"

namespace semel::test {

// Expects that no sent message is lost. Returns how many effects happened more than once.
inline std::size_t expect_none_lost(const TestBed& bed, const Ledger& ledger, std::size_t sent) {
  const auto balance = ledger.balance();
  EXPECT_EQ(balance.keys, sent) << "lost";
  EXPECT_EQ(bed.held(), 0U);
  EXPECT_TRUE(bed.dead().empty());
  EXPECT_EQ(bed.completed(), sent);
  return balance.doubled;
}

}  // namespace semel::test
