#include "telemetry/handler_timer.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/builders.h"

namespace semel::telemetry {
namespace {

enum CallOutcome : std::size_t { kDone, kRetry, kDead, kDiscard, kFailed };

class HandlerTimerTest : public ::testing::Test {
 protected:
  std::uint64_t count(CallOutcome outcome) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < HandlerDurations::CallBuckets::kCount; ++i) {
      sum += durations_->calls(outcome).count(i);
    }
    return sum;
  }

  std::shared_ptr<HandlerDurations> durations_ = std::make_shared<HandlerDurations>();
  const Message message_ = std::move(test::make_delivery(ConsumerNumber{1}, "k").message);
  Attempt attempt_;
};

TEST_F(HandlerTimerTest, CountsAPlainCallByItsVerdict) {
  const Handler handler = timed(PlainHandler([](const Message&, const Attempt& attempt) -> Verdict {
                                  std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                  if (attempt.number > 1) throw std::runtime_error("no");
                                  return retry("later");
                                }),
                                durations_);
  const auto& plain = std::get<PlainHandler>(handler);
  EXPECT_EQ(plain(message_, attempt_).kind(), Verdict::Kind::kRetry);
  EXPECT_EQ(count(kRetry), 1U);
  EXPECT_GE(durations_->calls(kRetry).sum(), 2'000) << "microseconds";
  Attempt second;
  second.number = 2;
  EXPECT_THROW((void)plain(message_, second), std::runtime_error);
  EXPECT_EQ(count(kFailed), 1U);
}

TEST_F(HandlerTimerTest, CountsABatchOnceForEachMessage) {
  bool complete = true;
  const Handler handler =
      timed(BatchHandler([&](std::span<const Message* const>, std::span<const Attempt>) {
              std::vector<Verdict> verdicts;
              verdicts.push_back(done());
              if (complete) verdicts.push_back(dead("bad"));
              return verdicts;
            }),
            durations_);
  const std::vector<const Message*> messages{&message_, &message_};
  const std::vector<Attempt> attempts(2);
  const auto& batch = std::get<BatchHandler>(handler);
  EXPECT_EQ(batch(messages, attempts).size(), 2U);
  EXPECT_EQ(count(kDone), 1U);
  EXPECT_EQ(count(kDead), 1U);
  complete = false;
  EXPECT_EQ(batch(messages, attempts).size(), 1U) << "the caller refuses it";
  EXPECT_EQ(count(kFailed), 2U);
  EXPECT_EQ(count(kDone), 1U);
}

TEST_F(HandlerTimerTest, CountsAnAsynchronousCallOnceItIsAnswered) {
  std::optional<Completion> open;
  const Handler handler =
      timed(AsyncHandler([&](const Message&, const Attempt&, Completion completion) {
              open.emplace(std::move(completion));
            }),
            durations_);
  const auto& async = std::get<AsyncHandler>(handler);
  std::vector<std::string> told;
  const auto tell = [&](std::optional<Verdict> verdict) {
    told.push_back(verdict ? "answered" : "dropped");
  };
  async(message_, attempt_, Completion(tell));
  EXPECT_EQ(count(kDone), 0U);
  (*open)(done());
  EXPECT_EQ(count(kDone), 1U);
  EXPECT_EQ(told, std::vector<std::string>{"answered"});
  EXPECT_THROW((*open)(done()), std::logic_error) << "as without the timer";
  async(message_, attempt_, Completion(tell));
  open.reset();
  EXPECT_EQ(count(kFailed), 1U);
  EXPECT_EQ(told, (std::vector<std::string>{"answered", "dropped"}));
}

TEST_F(HandlerTimerTest, AnAsynchronousHandlerThatThrowsHasFailed) {
  const Handler handler = timed(AsyncHandler([](const Message&, const Attempt&, Completion) {
                                  throw std::runtime_error("no");
                                }),
                                durations_);
  bool dropped = false;
  EXPECT_THROW(std::get<AsyncHandler>(handler)(
                   message_, attempt_, Completion([&](auto verdict) { dropped = !verdict; })),
               std::runtime_error);
  EXPECT_TRUE(dropped);
  EXPECT_EQ(count(kFailed), 1U);
}

TEST_F(HandlerTimerTest, AnAnswerAfterTheHandlerThrewIsNotCounted) {
  std::optional<Completion> kept;
  std::weak_ptr<HandlerDurations> durations = durations_;
  {
    const Handler handler =
        timed(AsyncHandler([&](const Message&, const Attempt&, Completion completion) {
                kept.emplace(std::move(completion));
                throw std::runtime_error("no");
              }),
              durations_);
    EXPECT_THROW(std::get<AsyncHandler>(handler)(message_, attempt_, Completion([](auto) {})),
                 std::runtime_error);
  }
  EXPECT_EQ(count(kFailed), 1U);
  durations_.reset();
  ASSERT_FALSE(durations.expired()) << "the run is over, and a completion is kept";
  (*kept)(done());
  EXPECT_TRUE(durations.expired());
}

}  // namespace
}  // namespace semel::telemetry
