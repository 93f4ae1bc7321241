#include "handlers/in_flight/in_flight_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/builders.h"
#include "tests/support/publish_calls.h"

namespace semel::handlers {
namespace {

using std::chrono::milliseconds;
using Ticket = InFlightCall::Ticket;
using Tickets = std::vector<Ticket>;
using TimePoint = InFlightCall::TimePoint;

// Records its destruction.
struct NotingCall final : InFlightCall {
  using InFlightCall::InFlightCall;
  ~NotingCall() override {
    if (gone != nullptr) *gone = true;
  }
  bool* gone = nullptr;
};

// One message with its attempt, and its answers.
struct Borrowed {
  Message message;
  std::stop_source stop;
  Attempt attempt;
  std::atomic<int> answers{0};
  std::optional<Verdict> verdict;
  std::function<void()> on_answer = nullptr;

  explicit Borrowed(std::string_view key = "k-1")
      : message(test::make_message(ConsumerNumber{1}, key)) {
    attempt.stop = stop.get_token();
  }
  std::unique_ptr<NotingCall> call(TimePoint begun = {}) {
    return std::make_unique<NotingCall>(message, attempt, Completion([this](auto told) {
                                          verdict = std::move(told);
                                          if (on_answer) on_answer();
                                          ++answers;
                                        }),
                                        begun);
  }
};

struct InFlightCallsTest : testing::Test {
  int stops = 0;
  // The table is destroyed first, and answers the remaining calls.
  Borrowed first;
  Borrowed second;
  Borrowed third;
  InFlightCalls<NotingCall> calls{[this] { ++stops; }};

  Ticket begin(Borrowed& borrowed, TimePoint deadline = InFlightTable::kNever) {
    auto call = borrowed.call();
    const NotingCall* const raw = call.get();
    calls.begin(std::move(call), deadline);
    return raw->ticket();
  }
};

TEST_F(InFlightCallsTest, CallsAreNumberedInTheirOrderAndToldToTheServerOnce) {
  const Ticket one = begin(first);
  const Ticket two = begin(second);
  EXPECT_LT(one, two);
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_TRUE(calls.has_news());
  EXPECT_EQ(calls.take_news().begun, (Tickets{one, two}));
  EXPECT_FALSE(calls.has_news());
  EXPECT_FALSE(calls.take_news().any());
  ASSERT_EQ(calls.all().size(), 2U);
  EXPECT_EQ(calls.all().front(), calls.find(one));
  EXPECT_EQ(&calls.find(two)->message, &second.message);
}

TEST_F(InFlightCallsTest, WhoTakesACallOutAnswersItAndNobodyElseDoes) {
  const Ticket ticket = begin(first);
  auto taken = calls.take(ticket);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(calls.take(ticket), nullptr);
  EXPECT_EQ(calls.find(ticket), nullptr);
  EXPECT_FALSE(calls.end(ticket, {}));
  EXPECT_EQ(first.answers, 0);
  calls.answer(std::move(taken), done("17"));
  EXPECT_EQ(first.answers, 1);
  EXPECT_EQ(first.verdict->result(), "17");
  EXPECT_TRUE(calls.empty());
}

// The answer may destroy message and attempt, so nothing that borrows them may exist by then.
TEST_F(InFlightCallsTest, TheCallIsGoneBeforeItsAnswerIsGiven) {
  bool gone = false;
  bool gone_first = false;
  first.on_answer = [&] { gone_first = gone; };
  const Ticket ticket = begin(first);
  calls.find(ticket)->gone = &gone;
  EXPECT_TRUE(calls.end(ticket, {}));
  EXPECT_EQ(first.answers, 1);
  EXPECT_TRUE(gone_first);
}

TEST_F(InFlightCallsTest, AStopIsNewsAndWakesTheServerUnlessTheCallWasAnswered) {
  const Ticket ticket = begin(first);
  const Ticket answered = begin(second);
  (void)calls.take_news();
  calls.end(answered, {});
  first.stop.request_stop();
  second.stop.request_stop();
  EXPECT_EQ(stops, 1);
  EXPECT_EQ(calls.take_news().stopped, Tickets{ticket});
  EXPECT_EQ(first.answers, 0) << "only the server ends it";
}

TEST_F(InFlightCallsTest, AStopThatCameBeforeTheCallIsNewsToo) {
  first.stop.request_stop();
  const Ticket ticket = begin(first);
  const auto news = calls.take_news();
  EXPECT_EQ(news.begun, Tickets{ticket});
  EXPECT_EQ(news.stopped, Tickets{ticket});
}

TEST_F(InFlightCallsTest, AStopBetweenTheTwoHalvesIsNotLostAndTakesNothingBefore) {
  auto call = first.call();
  calls.number(*call);
  const Ticket ticket = call->ticket();
  first.stop.request_stop();
  EXPECT_FALSE(calls.has_news()) << "the call is still its thread's own";
  EXPECT_TRUE(calls.add(std::move(call)));
  const auto news = calls.take_news();
  EXPECT_TRUE(news.begun.empty()) << "the server is not to make it";
  EXPECT_EQ(news.stopped, Tickets{ticket});
  auto other = second.call();
  calls.number(*other);
  EXPECT_FALSE(calls.add(std::move(other)));
  EXPECT_FALSE(calls.has_news());
}

TEST_F(InFlightCallsTest, DeadlinesComeInTheirOrderAndOnce) {
  const TimePoint zero{};
  EXPECT_EQ(calls.next_deadline(), InFlightTable::kNever);
  const Ticket late = begin(first, zero + milliseconds(20));
  const Ticket early = begin(second, zero + milliseconds(10));
  begin(third);
  EXPECT_EQ(calls.next_deadline(), zero + milliseconds(10));
  EXPECT_TRUE(calls.take_late(zero + milliseconds(9)).empty());
  EXPECT_EQ(calls.take_late(zero + milliseconds(20)), (Tickets{early, late}));
  EXPECT_TRUE(calls.take_late(zero + milliseconds(20)).empty());
  EXPECT_EQ(calls.next_deadline(), InFlightTable::kNever);

  calls.set_deadline(*calls.find(late), zero + milliseconds(40));
  calls.set_deadline(*calls.find(early), zero + milliseconds(50));
  calls.set_deadline(*calls.find(late), zero + milliseconds(60));
  EXPECT_EQ(calls.next_deadline(), zero + milliseconds(50));
  calls.end(early, {});
  EXPECT_EQ(calls.next_deadline(), zero + milliseconds(60));
  calls.set_deadline(*calls.find(late), InFlightTable::kNever);
  EXPECT_TRUE(calls.take_late(zero + milliseconds(60)).empty());
}

TEST_F(InFlightCallsTest, WhatIsLeftIsDroppedAndItsOutcomeUnknown) {
  begin(first);
  calls.drop_all();
  EXPECT_EQ(first.answers, 1);
  EXPECT_FALSE(first.verdict);
  EXPECT_TRUE(calls.empty());
  {
    InFlightCalls<NotingCall> others{[] {}};
    others.begin(second.call(), TimePoint{});
  }
  EXPECT_EQ(second.answers, 1);
  EXPECT_FALSE(second.verdict);
}

TEST_F(InFlightCallsTest, ClosingStaysNews) {
  EXPECT_FALSE(calls.closing());
  calls.close();
  EXPECT_TRUE(calls.closing());
  EXPECT_TRUE(calls.take_news().closing);
  EXPECT_TRUE(calls.take_news().closing);
}

TEST_F(InFlightCallsTest, BreakerAndGateHearAnAnswerBeforeItIsGiven) {
  test::ToldGate gate;
  InFlightCalls<NotingCall> guarded{[] {}, {1, milliseconds(10), milliseconds(10)}};
  std::size_t told_before = 0;
  first.attempt.gate = second.attempt.gate = &gate;
  first.on_answer = [&] { told_before = gate.shuts().size(); };
  auto one = first.call();
  guarded.number(*one);
  auto two = second.call();
  guarded.number(*two);
  const auto away = [] {
    return core::judged_again("x", "it is away", core::Judged::Broker::kAtFault, false);
  };
  guarded.answer(std::move(one), away());
  EXPECT_EQ(told_before, 1U);
  EXPECT_EQ(gate.shuts(), std::vector<std::string>{"shut it is away"});
  guarded.answer(std::move(two), away());
  EXPECT_EQ(gate.shuts().size(), 1U) << "it was begun before the gate was shut";
}

// A message that the broker refuses, while it takes others.
TEST_F(InFlightCallsTest, ARefusalIsTheMessagesOwnOnceAnotherIsPublishedAndShutsTheGateNoMore) {
  test::ToldGate gate;
  InFlightCalls<NotingCall> guarded{[] {}, {10, milliseconds(10), milliseconds(10)}};
  const auto answered = [&](std::string_view key, core::Judged judged) {
    Borrowed borrowed(key);
    borrowed.attempt.gate = &gate;
    auto call = borrowed.call();
    guarded.number(*call);
    guarded.answer(std::move(call), std::move(judged));
    return *borrowed.verdict;
  };
  const auto refused = [](bool costs) {
    core::Judged made =
        core::judged_again("x", "it refuses it", core::Judged::Broker::kRefuses, false);
    made.costs_alone = costs;
    return made;
  };
  EXPECT_FALSE(answered("bad", refused(true)).counted()) << "it may refuse them all";
  EXPECT_FALSE(answered("bad", refused(true)).counted()) << "none was published meanwhile";
  EXPECT_EQ(gate.shuts().size(), 2U);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(answered(fmt::format("good-{}", i), {}).kind(), Verdict::Kind::kDone);
    EXPECT_TRUE(answered("bad", refused(true)).counted());
    EXPECT_FALSE(answered("bad", refused(false)).counted()) << "its refusal costs nothing";
  }
  EXPECT_EQ(gate.shuts().size(), 2U);
  EXPECT_FALSE(answered("another", refused(true)).counted());
  EXPECT_FALSE(answered("bad", refused(true)).counted()) << "it refuses others too";
  EXPECT_EQ(gate.shuts().size(), 3U) << gate.shuts().back();
}

// Calls begin, are stopped and end on three threads: each is answered once.
TEST_F(InFlightCallsTest, RaceOfBeginsStopsAndAnswers) {
  constexpr std::size_t kCalls = 2000;
  std::vector<Borrowed> borrowed(kCalls);
  std::atomic<std::size_t> begun{0};
  InFlightCalls<NotingCall> raced{[] {}};
  std::thread beginner([&] {
    for (Borrowed& each : borrowed) {
      raced.begin(each.call(), TimePoint{});
      ++begun;
    }
  });
  std::thread stopper([&] {
    for (std::size_t i = 0; i < kCalls; ++i) {
      if (i % 3 == 0) borrowed[i].stop.request_stop();
    }
  });
  std::thread other([&] {
    while (begun < kCalls || !raced.empty()) {
      for (const Ticket ticket : raced.take_late(TimePoint{})) raced.end(ticket, {});
    }
  });
  std::size_t told = 0;
  while (begun < kCalls || !raced.empty()) {
    const auto news = raced.take_news();
    told += news.begun.size();
    for (const Ticket ticket : news.begun) raced.end(ticket, {});
    for (const Ticket ticket : news.stopped) raced.end(ticket, {});
  }
  beginner.join();
  stopper.join();
  other.join();
  told += raced.take_news().begun.size();
  EXPECT_EQ(told, kCalls);
  for (const Borrowed& each : borrowed) ASSERT_EQ(each.answers, 1);
}

}  // namespace
}  // namespace semel::handlers
