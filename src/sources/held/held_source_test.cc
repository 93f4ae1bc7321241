#include <gtest/gtest.h>
#include <poll.h>

#include <functional>

#include "sources/sources.h"
#include "sources/test_doubles.h"
#include "system/descriptor.h"
#include "tests/support/test_environment.h"

namespace semel::sources {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

// Rows with a clock that the test advances. Counts the calls.
class FakeHeld final : public HeldMessages {
 public:
  FakeHeld(Clock& clock, bool can_wake)
      : clock_(clock), wake_(can_wake ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) {}

  Result<void> append(ConsumerNumber, std::span<const OutgoingMessage> messages) override {
    for (const OutgoingMessage& m : messages) rows[++last_] = {m.payload, clock_.now() + m.delay};
    ring();
    return {};
  }
  Result<std::vector<Arrival>> take(ConsumerNumber, std::size_t max_messages, std::size_t,
                                    milliseconds hidden, const LineOf&) override {
    ++takes;
    drain();
    std::vector<Arrival> taken;
    for (auto& [row, held] : rows) {
      if (held.due > clock_.now() || taken.size() == max_messages || refuse_to_give) continue;
      held.due = clock_.now() + hidden;
      Arrival& arrival = taken.emplace_back();
      arrival.payload = held.payload;
      arrival.row = RowTag{row};
      if (line_of) arrival.line = line_of(row);
    }
    return taken;
  }
  Result<std::vector<Place>> hold_behind(ConsumerNumber, std::span<const Follower> followers,
                                         std::size_t) override {
    return std::vector<Place>(followers.size(), Place::kFree);
  }
  Result<std::vector<Bytes>> lines(ConsumerNumber) override { return std::vector<Bytes>(); }
  Result<void> release(std::span<const RowTag> tags, milliseconds delay) override {
    ++releases;
    if (failing) return failure({ErrorKind::kUnavailable, "R206", "locked", {}});
    return set_due(tags, delay);
  }
  Result<void> extend(std::span<const RowTag> tags, milliseconds hidden) override {
    return set_due(tags, hidden);
  }
  Result<void> remove(std::span<const RowTag> tags) override {
    if (failing) return failure({ErrorKind::kUnavailable, "R206", "locked", {}});
    for (const RowTag tag : tags) rows.erase(static_cast<std::int64_t>(tag));
    return {};
  }
  Result<Depth> depth(ConsumerNumber) override {
    ++looks;
    Depth depth{rows.size(), std::nullopt};
    for (const auto& [row, held] : rows) {
      const auto left = std::chrono::ceil<milliseconds>(held.due - clock_.now());
      const milliseconds due = std::max(left, milliseconds(0));
      depth.next_due = depth.next_due ? std::min(*depth.next_due, due) : due;
    }
    return depth;
  }
  int wake_fd() noexcept override { return wake_.get(); }

  void ring() {
    if (wake_.valid()) ::eventfd_write(wake_.get(), 1);
  }
  void drain() {
    std::uint64_t rung = 0;
    if (wake_.valid()) ::eventfd_read(wake_.get(), &rung);
  }
  void add(const std::string& payload, milliseconds delay = {}) {
    OutgoingMessage message;
    message.payload = payload;
    message.delay = delay;
    ASSERT_TRUE(append(kConsumer, {&message, 1}));
  }

  struct Row {
    std::string payload;
    std::chrono::steady_clock::time_point due;
  };
  std::map<std::int64_t, Row> rows;
  int takes = 0;
  int looks = 0;
  int releases = 0;
  bool failing = false;
  bool refuse_to_give = false;
  std::function<Bytes(std::int64_t row)> line_of;

 private:
  Result<void> set_due(std::span<const RowTag> tags, milliseconds in) {
    for (const RowTag tag : tags) {
      const auto found = rows.find(static_cast<std::int64_t>(tag));
      if (found != rows.end()) found->second.due = clock_.now() + in;
    }
    return {};
  }
  Clock& clock_;
  system::Descriptor wake_;
  std::int64_t last_ = 0;
};

class HeldSourceTest : public testing::Test {
 protected:
  static constexpr milliseconds kHidden{60'000};
  void SetUp() override { make(true); }
  void make(bool can_wake) {
    held_ = std::make_unique<FakeHeld>(environment_.clock, can_wake);
    source_ = make_held_source(*held_, kConsumer, kHidden, environment_.get());
  }
  Received receive() {
    auto received = source_->receive({});
    EXPECT_TRUE(received);
    return received ? std::move(*received) : Received{};
  }
  bool woken() {
    pollfd fd{source_->wakeup().fd, POLLIN, 0};
    return ::poll(&fd, 1, 0) == 1;
  }
  void settle(const Arrival& arrival, Settlement::Kind kind, milliseconds delay = {}) {
    const Settlement settlement{arrival.tag, kind, delay};
    ASSERT_TRUE(source_->settle({&settlement, 1}));
  }

  test::TestEnvironment environment_;
  std::unique_ptr<FakeHeld> held_;
  std::unique_ptr<Source> source_;
};

TEST_F(HeldSourceTest, YieldsRowsAndRemovesThemWhenAcked) {
  const SourceTraits& traits = source_->traits();
  EXPECT_TRUE(traits.redelivers && traits.in_store && traits.ends && traits.replays);
  held_->add("1");
  held_->add("2");
  const Received received = receive();
  ASSERT_EQ(payloads(received), (Lines{"1", "2"}));
  EXPECT_FALSE(received.at_end);
  EXPECT_EQ(received.arrivals[0].tag.value, static_cast<std::uint64_t>(*received.arrivals[0].row));
  EXPECT_FALSE(receive().at_end) << "rows in flight are not the end";
  ASSERT_TRUE(source_->settle(settlements(received.arrivals)));
  EXPECT_TRUE(held_->rows.empty());
  EXPECT_TRUE(woken());
  EXPECT_TRUE(receive().at_end);
}

TEST_F(HeldSourceTest, AnIdleQueueIsNotAskedAgainAndAgain) {
  EXPECT_TRUE(receive().at_end);
  const int takes = held_->takes;
  const int looks = held_->looks;
  for (int i = 0; i < 1'000; ++i) {
    environment_.clock.advance(milliseconds(10));
    EXPECT_TRUE(receive().at_end);
  }
  EXPECT_EQ(held_->takes, takes);
  EXPECT_LE(held_->looks, looks + 11) << "about once a second";
  EXPECT_FALSE(woken());
  environment_.clock.advance(milliseconds(10));
  receive();
  held_->add("1");
  EXPECT_TRUE(woken());
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(HeldSourceTest, RingsForNothingAreNotEachAnswered) {
  EXPECT_TRUE(receive().at_end);
  const int takes = held_->takes;
  for (int i = 0; i < 100; ++i) {
    environment_.clock.advance(std::chrono::microseconds(100));
    held_->ring();
    receive();
  }
  EXPECT_GE(held_->takes, takes + 3);
  EXPECT_LE(held_->takes, takes + 6);
  held_->add("1");
  EXPECT_TRUE(receive().arrivals.empty());
  EXPECT_FALSE(woken()) << "a ring that is not answered must not be polled in a circle";
  const auto due = source_->wakeup().due_in;
  ASSERT_TRUE(due && *due > milliseconds(0) && *due <= milliseconds(5));
  environment_.clock.advance(*due);
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(HeldSourceTest, ARowWhoseRingAnotherConsumerHeardIsFound) {
  EXPECT_TRUE(receive().at_end);
  held_->add("1");
  held_->drain();
  EXPECT_FALSE(woken());
  const auto due = source_->wakeup().due_in;
  ASSERT_TRUE(due && *due <= seconds(2));
  environment_.clock.advance(*due);
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(HeldSourceTest, DelayedRowsComeWhenDueAndAreNotTakenBefore) {
  held_->add("later", seconds(30));
  EXPECT_FALSE(receive().at_end);
  const int takes = held_->takes;
  for (milliseconds waited{0}; waited < seconds(30);) {
    const auto due = source_->wakeup().due_in;
    ASSERT_TRUE(due);
    ASSERT_GT(*due, milliseconds(0)) << "a circle";
    environment_.clock.advance(*due);
    waited += *due;
    if (waited < seconds(30)) {
      EXPECT_TRUE(receive().arrivals.empty());
      EXPECT_EQ(held_->takes, takes);
    }
  }
  EXPECT_EQ(payloads(receive()), Lines{"later"});
  EXPECT_LT(held_->looks, 60);
}

TEST_F(HeldSourceTest, RowsTheCommitTookAreForgotten) {
  held_->add("1");
  const Received received = receive();
  held_->rows.clear();
  settle(received.arrivals[0], Settlement::Kind::kGone);
  EXPECT_TRUE(receive().at_end);
  ASSERT_TRUE(source_->close(seconds(1)));
  EXPECT_EQ(held_->releases, 0);
}

TEST_F(HeldSourceTest, LaterIsNotBeforeItsDelay) {
  held_->add("1");
  settle(receive().arrivals[0], Settlement::Kind::kLater, seconds(5));
  EXPECT_TRUE(receive().arrivals.empty());
  environment_.clock.advance(seconds(5) - milliseconds(1));
  EXPECT_TRUE(receive().arrivals.empty());
  environment_.clock.advance(seconds(1));
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(HeldSourceTest, ReleasedRowsComeAtOnceUnderANewTag) {
  held_->add("1");
  const Received first = receive();
  settle(first.arrivals[0], Settlement::Kind::kRelease);
  const Received second = receive();
  ASSERT_EQ(payloads(second), Lines{"1"});
  EXPECT_NE(first.arrivals[0].tag, second.arrivals[0].tag);
  settle(first.arrivals[0], Settlement::Kind::kAck);
  EXPECT_EQ(held_->rows.size(), 1U) << "settled before: ignored";
  settle(second.arrivals[0], Settlement::Kind::kAck);
  EXPECT_TRUE(held_->rows.empty());
}

TEST_F(HeldSourceTest, NearlyEqualDelaysAreToldTogether) {
  std::vector<Settlement> all;
  for (int i = 0; i < 50; ++i) held_->add(std::to_string(i));
  const Received received = receive();
  for (const Arrival& arrival : received.arrivals) {
    all.push_back({arrival.tag, Settlement::Kind::kLater, milliseconds(1'000 + all.size())});
  }
  ASSERT_TRUE(source_->settle(all));
  EXPECT_EQ(held_->releases, 1);
  environment_.clock.advance(milliseconds(1'048));
  EXPECT_TRUE(receive().arrivals.empty()) << "nobody comes before its delay";
  environment_.clock.advance(milliseconds(1));
  EXPECT_EQ(receive().arrivals.size(), 50U);
}

TEST_F(HeldSourceTest, CloseGivesBackTheRest) {
  held_->add("1");
  held_->add("2");
  const Received received = receive();
  settle(received.arrivals[0], Settlement::Kind::kLater, seconds(100));
  ASSERT_TRUE(source_->close(seconds(1)));
  source_ = make_held_source(*held_, kConsumer, kHidden, environment_.get());
  EXPECT_EQ(payloads(receive()), Lines{"2"});
}

TEST_F(HeldSourceTest, ACloseThatTheStoreDidNotHearForgetsNothing) {
  held_->add("1");
  EXPECT_EQ(receive().arrivals.size(), 1U);
  held_->failing = true;
  EXPECT_FALSE(source_->close(seconds(1)));
  held_->failing = false;
  EXPECT_TRUE(source_->close(seconds(1)));
  const int releases = held_->releases;
  EXPECT_TRUE(source_->close(seconds(1)));
  EXPECT_EQ(held_->releases, releases) << "it was given back already";
  source_ = make_held_source(*held_, kConsumer, kHidden, environment_.get());
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(HeldSourceTest, AStoreThatIsAwayIsToldAgain) {
  held_->add("1");
  const Received received = receive();
  held_->failing = true;
  EXPECT_FALSE(source_->settle(settlements(received.arrivals)));
  held_->failing = false;
  EXPECT_TRUE(source_->settle(settlements(received.arrivals)));
  EXPECT_TRUE(held_->rows.empty());
}

TEST_F(HeldSourceTest, OthersRowsThatEndAreNoticed) {
  held_->add("another process has it", seconds(60));
  EXPECT_FALSE(receive().at_end);
  held_->rows.clear();
  milliseconds waited{0};
  while (!receive().at_end && waited < seconds(60)) {
    const milliseconds due = source_->wakeup().due_in.value_or(seconds(60));
    waited += due;
    environment_.clock.advance(due);
  }
  EXPECT_LE(waited, seconds(1));
}

TEST_F(HeldSourceTest, RowsThatAreDueAndNotToBeHadCauseNoCircle) {
  held_->refuse_to_give = true;
  held_->add("1");
  EXPECT_TRUE(receive().arrivals.empty());
  for (int i = 0; i < 10; ++i) {
    const auto due = source_->wakeup().due_in;
    ASSERT_TRUE(due && *due > milliseconds(0));
    environment_.clock.advance(*due);
    EXPECT_TRUE(receive().arrivals.empty());
  }
  held_->refuse_to_give = false;
  environment_.clock.advance(seconds(1));
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(HeldSourceTest, AStoreThatCannotWakeIsLookedAt) {
  make(false);
  EXPECT_TRUE(receive().at_end);
  held_->add("1");
  const auto due = source_->wakeup().due_in;
  ASSERT_TRUE(due && *due > milliseconds(0) && *due <= seconds(1));
  environment_.clock.advance(*due);
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(HeldSourceTest, ARowThatIsInHandStillIsNotHandledTwice) {
  held_->add("1");
  const Received first = receive();
  ASSERT_EQ(payloads(first), Lines{"1"});
  environment_.clock.advance(2 * kHidden);
  held_->add("2");
  EXPECT_EQ(payloads(receive()), Lines{"2"});
  EXPECT_EQ(held_->rows.at(1).due, environment_.clock.now() + kHidden) << "hidden again";
  settle(first.arrivals[0], Settlement::Kind::kAck);
  EXPECT_EQ(held_->rows.size(), 1U) << "the tag that it came with is good still";
}

// As a Finish does that lets the message wait for another record.
TEST_F(HeldSourceTest, ARowThatAFinishHasShownIsNotHiddenByItsOwnHolder) {
  held_->add("1");
  const Received first = receive();
  environment_.clock.advance(2 * kHidden);
  EXPECT_TRUE(receive().arrivals.empty()) << "taken again, before its settlement";
  settle(first.arrivals[0], Settlement::Kind::kGone);
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

// The engine renews it no more, so that others may have it.
TEST_F(HeldSourceTest, ARowWhoseHandlerHangsIsSoonVisibleToOthersAgain) {
  held_->add("1");
  held_->add("2");
  const Received both = receive();
  ASSERT_EQ(both.arrivals.size(), 2U);
  ASSERT_TRUE(source_->extend(std::vector{both.arrivals[1].tag}, kHidden));
  environment_.clock.advance(kHidden - seconds(1));
  ASSERT_TRUE(source_->extend(std::vector{both.arrivals[1].tag}, kHidden));
  environment_.clock.advance(seconds(1));
  EXPECT_TRUE(receive().arrivals.empty());
  EXPECT_EQ(held_->takes, 2) << "it was visible";
  EXPECT_EQ(held_->rows.at(1).due, environment_.clock.now() + seconds(1));
  const auto due = source_->wakeup().due_in;
  EXPECT_TRUE(due && *due > milliseconds(0)) << "it does not take the row in a circle";
}

TEST_F(HeldSourceTest, ItsLineIsLeftToOthersToo) {
  for (const char* const payload : {"1", "2", "3"}) held_->add(payload);
  held_->line_of = [](std::int64_t row) { return row == 3 ? Bytes("other") : Bytes("one"); };
  auto received = source_->receive({.messages = 1});
  ASSERT_TRUE(received);
  ASSERT_EQ(payloads(*received), Lines{"1"});
  ASSERT_TRUE(source_->extend({}, kHidden));
  environment_.clock.advance(kHidden);
  EXPECT_EQ(payloads(receive()), Lines{"3"});
  EXPECT_EQ(held_->rows.at(2).due, environment_.clock.now()) << "given back";
}

TEST_F(HeldSourceTest, PausedItYieldsNothingAndSleeps) {
  source_->set_paused("", true);
  held_->add("1");
  EXPECT_TRUE(receive().arrivals.empty());
  EXPECT_FALSE(woken());
  EXPECT_FALSE(source_->wakeup().due_in);
  source_->set_paused("", false);
  EXPECT_TRUE(woken());
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

}  // namespace
}  // namespace semel::sources
