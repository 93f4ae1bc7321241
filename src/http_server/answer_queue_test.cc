#include "http_server/answer_queue.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace semel::http {
namespace {

bool is_readable(const AnswerQueue& queue, int wait_ms = 0) {
  pollfd fd{queue.descriptor(), POLLIN, 0};
  return ::poll(&fd, 1, wait_ms) > 0;
}

std::shared_ptr<AnswerQueue::Entry> entry_of(const std::shared_ptr<AnswerQueue>& queue) {
  return std::make_shared<AnswerQueue::Entry>(queue);
}

std::vector<std::string> bodies(AnswerQueue& queue) {
  std::vector<std::string> all;
  auto entry = queue.take();
  for (; entry != nullptr; entry = entry->take_next()) all.push_back(entry->take_response().body);
  return all;
}

TEST(AnswerQueueTest, HandsOverTheFirstAnswerOfEachInTheirOrder) {
  const auto queue = std::make_shared<AnswerQueue>();
  const auto one = entry_of(queue), other = entry_of(queue);
  other->answer({200, {}, "first", {}});
  one->answer({200, {}, "second", {}});
  other->answer({500, {}, "twice", {}});
  EXPECT_EQ(bodies(*queue), (std::vector<std::string>{"first", "second"}));
  one->answer({500, {}, "late", {}});
  EXPECT_EQ(bodies(*queue), std::vector<std::string>{});
}

TEST(AnswerQueueTest, SignalsOnceForAllThatComeWhileTheServerSleeps) {
  const auto queue = std::make_shared<AnswerQueue>();
  ASSERT_TRUE(queue->begin_sleep());
  EXPECT_FALSE(is_readable(*queue));
  entry_of(queue)->answer({});
  EXPECT_TRUE(is_readable(*queue));
  queue->end_sleep(true);
  EXPECT_FALSE(is_readable(*queue));
  entry_of(queue)->answer({});
  EXPECT_FALSE(is_readable(*queue)) << "it does not sleep";
  EXPECT_FALSE(queue->begin_sleep()) << "there is something to do";
  EXPECT_EQ(bodies(*queue).size(), 2U);
  EXPECT_TRUE(queue->begin_sleep());
}

TEST(AnswerQueueTest, AWakeIsNotLostWhetherItSleepsOrNot) {
  AnswerQueue queue;
  queue.wake();
  EXPECT_FALSE(queue.begin_sleep());
  ASSERT_TRUE(queue.begin_sleep());
  std::thread other([&] { queue.wake(); });
  EXPECT_TRUE(is_readable(queue, 60'000));
  other.join();
}

TEST(AnswerQueueTest, SignalsAfterTheLastOfManyAnswersThatAreGivenTogether) {
  const auto queue = std::make_shared<AnswerQueue>();
  const auto one = entry_of(queue), other = entry_of(queue);
  ASSERT_TRUE(queue->begin_sleep());
  one->answer_together([] {});
  EXPECT_FALSE(is_readable(*queue)) << "nothing was answered";
  one->answer_together([&] {
    one->answer({});
    other->answer({});
    EXPECT_FALSE(is_readable(*queue));
  });
  EXPECT_TRUE(is_readable(*queue));
  EXPECT_EQ(bodies(*queue).size(), 2U);
}

TEST(AnswerQueueTest, DropsEverythingAtItsEnd) {
  const auto queue = std::make_shared<AnswerQueue>();
  // As a chain of destructors so many would overflow the stack.
  for (int i = 0; i < 200'000; ++i) entry_of(queue)->answer({});
  const auto late = entry_of(queue);
  queue->end();
  late->answer({});
  EXPECT_EQ(queue->take(), nullptr);
  EXPECT_EQ(queue.use_count(), 2) << "only `late` still has it";
}

}  // namespace
}  // namespace semel::http
