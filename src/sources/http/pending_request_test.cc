#include "sources/http/pending_request.h"

#include <gtest/gtest.h>

#include <vector>

namespace semel::sources {
namespace {

class Answers final : public http::HttpResponder {
 public:
  void answer(http::HttpResponse response) noexcept override { given.push_back(response); }
  void answer_together(const std::function<void()>& give) override { give(); }
  std::vector<http::HttpResponse> given;
};

TEST(PendingRequest, AMessageIsAnsweredAsItIs) {
  const auto answers = std::make_shared<Answers>();
  PendingRequest request(answers, 1, false);
  EXPECT_TRUE(request.set(0, {.result = "paid"}));
  request.give();
  ASSERT_EQ(answers->given.size(), 1U);
  EXPECT_EQ(answers->given[0].body, "paid");
  EXPECT_FALSE(request.set(0, not_in_time())) << "the first one counts";
}

TEST(PendingRequest, ABatchWaitsForAllOfItsEvents) {
  const auto answers = std::make_shared<Answers>();
  PendingRequest request(answers, 3, true);
  EXPECT_FALSE(request.set(2, {}));
  EXPECT_FALSE(request.set(2, {})) << "it stood already";
  EXPECT_FALSE(request.set(0, not_in_time()));
  EXPECT_FALSE(request.set(0, {})) << "the first one counts";
  EXPECT_TRUE(request.set(1, {}));
  request.give();
  ASSERT_EQ(answers->given.size(), 1U);
  EXPECT_EQ(answers->given[0].status, 504);
}

TEST(PendingRequest, ABatchOfOneIsAnsweredWithAList) {
  const auto answers = std::make_shared<Answers>();
  PendingRequest request(answers, 1, true);
  EXPECT_TRUE(request.set(0, {.result = "paid"}));
  request.give();
  EXPECT_EQ(answers->given.at(0).body, "{\"events\":[{\"index\":0,\"status\":200}]}\n");
}

}  // namespace
}  // namespace semel::sources
