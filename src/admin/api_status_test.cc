#include <gtest/gtest.h>

#include <semel/admin/gates.h>

#include "admin/test_api.h"

namespace semel::admin {
namespace {

TEST_F(ApiTest, StatusIsThatOfTheCommand) {
  open(false);
  finish("one", Finish::To::kCompleted);
  finish("two", Finish::To::kDead, "handler.native");
  const auto answer = get("/api/v1/status");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(text_at(answer.body, "/schema"), "semel.v1.status");
  EXPECT_EQ(text_at(answer.body, "/store/where"), "memory");
  EXPECT_EQ(text_at(answer.body, "/store/completed"), "1") << answer.body;
  EXPECT_EQ(text_at(answer.body, "/consumers/0/name"), "payments");
  EXPECT_EQ(text_at(answer.body, "/consumers/0/dead_letters"), "1") << answer.body;
  EXPECT_EQ(text_at(answer.body, "/consumers/0/gate"), "open");
}

TEST_F(ApiTest, StatusTellsOfAPause) {
  open(false);
  ASSERT_TRUE(store_->facets().gates->shut(number_, "ticket 7", std::nullopt));
  const auto answer = get("/api/v1/status");
  EXPECT_EQ(text_at(answer.body, "/consumers/0/state"), "paused") << answer.body;
  EXPECT_EQ(text_at(answer.body, "/consumers/0/why"), "ticket 7");
}

TEST_F(ApiTest, StatusNeedsTheStore) {
  open(false);
  running_ = false;
  EXPECT_EQ(get("/api/v1/status").status, 503);
}

}  // namespace
}  // namespace semel::admin
