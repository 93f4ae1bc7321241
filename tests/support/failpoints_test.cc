#include "tests/support/failpoints.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "core/failpoints.h"

namespace semel::test {
namespace {

using Action = FailpointSpec::Action;

TEST(ParseFailpoint, TakesEveryPoint) {
  for (std::string_view point : failpoint::kAll) {
    const Result<FailpointSpec> spec = parse_failpoint(std::string(point) + ":kill");
    ASSERT_TRUE(spec) << point;
    EXPECT_EQ(spec->point, point);
    EXPECT_EQ(spec->action, Action::kKill);
    EXPECT_EQ(spec->on_hit, 1);
  }
}

TEST(ParseFailpoint, TakesNumbers) {
  EXPECT_EQ(parse_failpoint("claimed:kill:3")->on_hit, 3);
  EXPECT_EQ(parse_failpoint("handler.after:stop:2")->on_hit, 2);
  EXPECT_EQ(parse_failpoint("handler.after:stop")->action, Action::kStop);
  EXPECT_EQ(parse_failpoint("commit.before:delay:250")->delay, std::chrono::milliseconds(250));
}

TEST(ParseFailpoint, RefusesAllElse) {
  for (const char* bad : {"", "claimed", "nowhere:kill", "claimed:burn",
                          "claimed:kill:", "claimed:kill:0", "claimed:kill:-1", "claimed:kill:x",
                          "claimed:delay", "claimed:kill:1:1", "claimed:kill:99999999999"}) {
    EXPECT_FALSE(parse_failpoint(bad)) << bad;
  }
}

// Runs `body` in a child and returns how it ended, or stopped.
int ending_of(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(7);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WUNTRACED), child);
  if (WIFSTOPPED(status)) {
    int last = 0;
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, &last, 0), child);
  }
  return status;
}

TEST(Failpoints, KillAtTheNamedTime) {
  const auto points = make_failpoints(parse_failpoint("claimed:kill:3").value());
  const auto hit = [&](int times) {
    return ending_of([&] {
      for (int i = 0; i < times; ++i) points->hit(failpoint::kClaimed);
    });
  };
  const int twice = hit(2);
  ASSERT_TRUE(WIFEXITED(twice));
  EXPECT_EQ(WEXITSTATUS(twice), 7);
  const int thrice = hit(3);
  ASSERT_TRUE(WIFSIGNALED(thrice));
  EXPECT_EQ(WTERMSIG(thrice), SIGKILL);
}

TEST(Failpoints, AnotherPointIsNotMeant) {
  const auto points = make_failpoints(parse_failpoint("claimed:kill").value());
  const int status = ending_of([&] { points->hit(failpoint::kBegun); });
  EXPECT_TRUE(WIFEXITED(status));
}

TEST(Failpoints, Stop) {
  const auto points = make_failpoints(parse_failpoint("finished:stop").value());
  const int status = ending_of([&] { points->hit(failpoint::kFinished); });
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(WSTOPSIG(status), SIGSTOP);
}

TEST(Failpoints, DelayEachTime) {
  const auto points = make_failpoints(parse_failpoint("finished:delay:20").value());
  const auto begin = std::chrono::steady_clock::now();
  points->hit(failpoint::kFinished);
  points->hit(failpoint::kFinished);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(40));
}

}  // namespace
}  // namespace semel::test
