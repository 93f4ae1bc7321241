// Finishes a single claim in a store.
#pragma once

#include <gtest/gtest.h>

#include <semel/spi/store.h>

namespace semel::test {

inline Applied finish_one(Store& store, const Finish& finish) {
  const auto applied = store.finish({&finish, 1});
  EXPECT_TRUE(applied.has_value()) << applied.error().message;
  return applied ? applied->front() : Applied::kLeaseLost;
}

}  // namespace semel::test
