#include "stores/sql/turn.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "system/event_fd.h"

namespace semel::sql {
namespace {

using namespace std::chrono_literals;
using system::Deadline;

TEST(TurnRace, OneThreadAtATimeHasIt) {
  constexpr int kThreads = 4;
  constexpr int kTurns = 2'000;
  Turn turn;
  int turns = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int taken = 0; taken < kTurns; ++taken) {
          const TurnLock lock(turn, {Deadline::kNever, Deadline::kNoStops, 0ms});
          ++turns;
        }
      });
    }
  }
  EXPECT_EQ(turns, kThreads * kTurns);
}

TEST(Turn, WhoWaitsForItHasADeadlineAndHearsAStop) {
  Turn turn;
  const auto take_turn = [&](const Deadline& deadline) { const TurnLock lock(turn, deadline); };
  turn.take({Deadline::kNever, Deadline::kNoStops, 0ms});
  EXPECT_THROW(take_turn({20ms, Deadline::kNoStops, 0ms}), Failure);
  system::EventFd stop;
  std::jthread stopping([&] { stop.signal(); });
  EXPECT_THROW(take_turn({Deadline::kNever, {stop.get(), -1}, 0ms}), Failure);
  turn.give_back();
  EXPECT_NO_THROW(take_turn({20ms, Deadline::kNoStops, 0ms}));
}

}  // namespace
}  // namespace semel::sql
