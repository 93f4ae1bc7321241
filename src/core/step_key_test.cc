#include "core/step_key.h"

#include <gtest/gtest.h>

#include <set>

namespace semel::core {
namespace {

TEST(StepKey, IsReadableAndTheSameAtEachTry) {
  EXPECT_EQ(step_key("order-17", "lock_stock", "", 1), "order-17/lock_stock");
  EXPECT_EQ(step_key("order-17", "lock_stock", "A7", 1), "order-17/lock_stock=A7");
  EXPECT_EQ(step_key("order-17", "lock_stock", "A7", 2), "order-17/lock_stock=A7/2");
  EXPECT_EQ(undo_key("order-17", "lock_stock", "", 1), "order-17/lock_stock/undo");
}

TEST(StepKey, NoTwoStepsShareOne) {
  std::set<Bytes> keys;
  std::size_t made = 0;
  for (const char* message : {"a", "a/b", "a%2Fb", "a/b/2", "a/b/undo", ""}) {
    for (const char* name : {"b", "c", "undo", "2"}) {
      for (const char* id : {"", "2", "undo", "a/b", "a%2Fb", "a=b"}) {
        for (const int round : {1, 2, 3}) {
          keys.insert(step_key(message, name, id, round));
          keys.insert(undo_key(message, name, id, round));
          made += 2;
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), made);
}

TEST(StepKey, ANameThatCannotBeIsRefusedWithTheReason) {
  EXPECT_FALSE(refuse_step("lock_stock", "A7"));
  EXPECT_TRUE(refuse_step("", ""));
  EXPECT_TRUE(refuse_step("lock/stock", ""));
  EXPECT_TRUE(refuse_step(std::string(kLongestStepName + 1, 'a'), ""));
  const auto why = refuse_step("lock", Bytes(kLongestStepId + 1, 'x'));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("256 bytes, the limit is 255"), std::string::npos) << *why;
}

}  // namespace
}  // namespace semel::core
