// Suspects that an engine leaves to the next one of its process: untried, or never received.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/test_suspects.h"

namespace semel::engine {
namespace {

// A reload begins another engine, although no process has died.
TEST_F(SuspectsTest, TheNextEngineOfTheProcessKnowsThoseThatWereLeft) {
  options_.once = false;
  markers_.kept = {{id("k1"), 1}};
  send_many(6);
  Engine* running = nullptr;
  auto e = noting([&](core::TrackedDelivery&, std::size_t) {
    running->stop();
    return ended(kDone);
  });
  running = e.get();
  EXPECT_EQ(e->run(), Ended::kDrained);
  ASSERT_EQ(batch_of_.size(), 1U);
  const Bytes tried = batch_of_.begin()->first;
  EXPECT_GE(e->suspects_left(), 5U);
  options_.suspects_first = e->suspects_left();
  options_.once = true;
  markers_.begun = {};
  e.reset();
  auto next = noting(is_done);
  EXPECT_EQ(next->run(), Ended::kFinished);
  EXPECT_EQ(next->suspects_left(), 0U);
  EXPECT_EQ(batch_of_.size(), 6U);
  for (const auto& [key, kept] : kept_when_run_) {
    if (key != tried) {
      EXPECT_NE(kept.front(), 0) << key << " was handled as if nothing had happened";
    }
  }
  EXPECT_TRUE(markers_.ended);
}

// An engine of a process in which the previous engine left suspects.
class LeftSuspects : public SuspectsTest {
 protected:
  LeftSuspects() {
    options_.once = false;
    options_.suspects_first = 40;
    options_.pace.max_in_flight = 4;
    markers_.begun = {};
  }
  // Stops the engine once it has asked the store.
  std::size_t left_by_one_that_is_stopped() {
    auto e = noting(is_done);
    std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
    EXPECT_TRUE(test::comes_true([&] { return markers_.begun_window > 0; }));
    e->stop();
    running.join();
    return e->suspects_left();
  }
};

TEST_F(LeftSuspects, OutliveAnEngineThatNeverReachedTheStore) {
  markers_.away = true;
  EXPECT_EQ(left_by_one_that_is_stopped(), 40U);
  EXPECT_FALSE(markers_.ended);
}

// It may have been told of a death, and the answer was lost.
TEST_F(LeftSuspects, MayBeThereWhereTheStoreNeverAnswered) {
  options_.suspects_first = 0;
  markers_.away = true;
  EXPECT_EQ(left_by_one_that_is_stopped(), options_.pace.max_in_flight);
  EXPECT_FALSE(markers_.ended);
}

TEST_F(LeftSuspects, OutliveAnEngineToWhichNothingCame) {
  EXPECT_EQ(left_by_one_that_is_stopped(), 40U);
  EXPECT_FALSE(markers_.ended);
}

TEST_F(LeftSuspects, AreNoneWhereTheSourceIsAtItsEnd) {
  options_.once = true;
  topic_.finish();
  auto e = noting(is_done);
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_EQ(e->suspects_left(), 0U);
  EXPECT_TRUE(markers_.ended);
}

// A source with two partitions, of which one returns nothing yet.
class HalfReadSource final : public Source {
 public:
  HalfReadSource(MemoryTopic& topic, std::optional<std::vector<std::string>> unread,
                 SourceTraits traits = {.name = "half"})
      : source_(topic), unread_(std::move(unread)), traits_(traits) {
    source_.set_paused("p1", true);
  }
  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override { return source_.receive(limits); }
  Wakeup wakeup() override { return source_.wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    return source_.settle(settlements);
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    return source_.extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_.set_paused(partition, paused);
  }
  std::optional<std::vector<std::string>> unread() override {
    if (closed_) return std::nullopt;
    return unread_;
  }
  Result<void> close(milliseconds deadline) override {
    closed_ = true;
    return source_.close(deadline);
  }

 private:
  MemorySource source_;
  const std::optional<std::vector<std::string>> unread_;
  const SourceTraits traits_;
  bool closed_ = false;
};

// An engine after an unclean end: p0 returns its whole window, and p1 nothing.
class LateSuspects : public SuspectsTest {
 protected:
  LateSuspects() {
    options_.once = false;
    markers_.begun = {true, 2};
    options_.pace.max_in_flight = 2;
    for (const char* const at : {"p0", "p0", "p1"}) {
      Arrival arrival;
      arrival.payload = payload_with_id("k" + std::to_string(topic_.added()));
      arrival.partition = at;
      topic_.add(std::move(arrival));
    }
  }
  std::size_t left_by_one_that_is_stopped(std::optional<std::vector<std::string>> unread,
                                          SourceTraits traits = {.name = "half"}) {
    auto e = engine_over(
        std::make_unique<HalfReadSource>(topic_, std::move(unread), traits),
        [this](core::TrackedDelivery& delivery, std::size_t batch) {
          if (delivery.arrival.suspect) ++suspects_;
          return is_done(delivery, batch);
        },
        &marked_);
    std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
    EXPECT_TRUE(test::comes_true([&] { return topic_.acked() == 2; }));
    e->stop();
    running.join();
    return e->suspects_left();
  }
  std::atomic<int> suspects_{0};
};

TEST_F(LateSuspects, AreLeftToTheNextEngineWhereTheirPartitionBroughtNothing) {
  EXPECT_EQ(left_by_one_that_is_stopped(std::vector<std::string>{"p1"}), 2U);
  EXPECT_FALSE(markers_.ended);
}

TEST_F(LateSuspects, AreNoneInAPartitionThatWasReadToItsEnd) {
  EXPECT_EQ(left_by_one_that_is_stopped(std::vector<std::string>{"p0"}), 0U);
  EXPECT_TRUE(markers_.ended);
}

// Fewer came than may have been in flight, and there are no more.
TEST_F(LateSuspects, AreNoneWhereAllWasReadBeforeTheWindowWas) {
  markers_.begun = {true, 40};
  EXPECT_EQ(left_by_one_that_is_stopped(std::vector<std::string>{}), 0U);
  EXPECT_TRUE(markers_.ended);
  EXPECT_EQ(suspects_, 2);
}

// Each is marked when it comes again, whenever that is.
TEST_F(LateSuspects, AreNoneWhereTheBrokerMarksThem) {
  EXPECT_EQ(left_by_one_that_is_stopped(std::nullopt, {.name = "marks", .marks_again = true}), 0U);
  EXPECT_TRUE(markers_.ended);
  EXPECT_EQ(suspects_, 0);
}

// A sender asks again or not: nobody knows when the last has.
TEST_F(LateSuspects, OfSendersEndWithACleanDrain) {
  EXPECT_EQ(left_by_one_that_is_stopped(std::nullopt, {.name = "asked", .answers = true}), 0U);
  EXPECT_TRUE(markers_.ended);
  EXPECT_EQ(suspects_, 2) << "those that come first after the crash are";
}

// A process that died now would leave this many suspects, though this engine has fewer messages in
// flight at a time.
TEST_F(LeftSuspects, AreWithinTheWindowOfTheMarker) {
  options_.once = true;
  send_many(10);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_EQ(markers_.begun_window, 40U);
}

}  // namespace
}  // namespace semel::engine
