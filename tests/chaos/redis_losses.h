// What a scene on Redis must have when all is done.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/chaos/scene.h"
#include "tests/support/ledger.h"

namespace semel::test {

// All that was sent is there. Returns how often a key came again.
inline std::size_t expect_none_lost(const Scene& scene, const Ledger& ledger, std::size_t sent) {
  const auto balance = ledger.balance();
  EXPECT_EQ(balance.keys, sent) << "lost";
  EXPECT_EQ(scene.held(), 0U);
  EXPECT_TRUE(scene.dead().empty());
  EXPECT_EQ(scene.completed(), sent);
  return balance.doubled;
}

}  // namespace semel::test
