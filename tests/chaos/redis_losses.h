// Checks of a scene on Redis after all work is done.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/chaos/scene.h"
#include "tests/support/ledger.h"

namespace semel::test {

// Expects that no sent message is lost. Returns how many effects happened more than once.
inline std::size_t expect_none_lost(const Scene& scene, const Ledger& ledger, std::size_t sent) {
  const auto balance = ledger.balance();
  EXPECT_EQ(balance.keys, sent) << "lost";
  EXPECT_EQ(scene.held(), 0U);
  EXPECT_TRUE(scene.dead().empty());
  EXPECT_EQ(scene.completed(), sent);
  return balance.doubled;
}

}  // namespace semel::test
