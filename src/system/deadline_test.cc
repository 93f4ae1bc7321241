#include "system/deadline.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "system/event_fd.h"

namespace semel::system {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, EndsAWaitForWhatNeverComes) {
  EventFd never;
  Deadline deadline(20ms, Deadline::kNoStops, 0ms);
  EXPECT_FALSE(deadline.wait(never.get(), POLLIN));
  EXPECT_FALSE(deadline.stopped());
  never.signal();
  EXPECT_TRUE(deadline.wait(never.get(), POLLIN)) << "what is there needs no time";
}

TEST(Deadline, AStopEndsAWaitWithoutEnd) {
  EventFd never;
  EventFd stop;
  Deadline deadline(Deadline::kNever, {-1, stop.get()}, 1ms);
  std::jthread stopping([&] { stop.signal(); });
  EXPECT_FALSE(deadline.wait(never.get(), POLLIN));
  EXPECT_TRUE(deadline.stopped());
}

TEST(Deadline, BehindAStopALittleTimeIsLeft) {
  EventFd late;
  EventFd stop;
  stop.signal();
  Deadline deadline(Deadline::kNever, {stop.get(), -1}, 60s);
  std::jthread answering([&] { late.signal(); });
  EXPECT_TRUE(deadline.wait(late.get(), POLLIN));
}

}  // namespace
}  // namespace semel::system
