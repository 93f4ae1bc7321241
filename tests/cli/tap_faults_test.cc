// semel tap and its runs where one of them dies, does not read, or talks rubbish.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "tap/socket_directory.h"
#include "tests/cli/tap_test_bed.h"

namespace semel::test {
namespace {

// Reads `fd` until `enough` says so of all that came.
std::string read_until(int fd, const std::function<bool(const std::string&)>& enough) {
  std::string all;
  while (!enough(all)) {
    pollfd ready{fd, POLLIN, 0};
    char piece[64 << 10];
    if (::poll(&ready, 1, 30'000) <= 0) break;
    const ssize_t n = ::read(fd, piece, sizeof piece);
    if (n <= 0) break;
    all.append(piece, static_cast<std::size_t>(n));
  }
  return all;
}

// Lines with a payload of 4 KB, so that all of them are far more than what anybody keeps.
std::string long_lines(std::size_t count) {
  std::string lines;
  for (std::size_t i = 0; i < count; ++i) {
    lines += "{\"id\":\"p-" + std::to_string(i) + "\",\"account\":1,\"amount\":1,\"pad\":\"" +
             std::string(4'000, 'x') + "\"}\n";
  }
  return lines;
}

TEST_F(TapTest, ARunThatIsKilledIsSaidAndItsSocketGoes) {
  Program runner(run({"-q"}));
  Program tap(this->tap());
  ASSERT_TRUE(watches(tap, runner));
  const Words left = sockets();
  ASSERT_EQ(left.size(), 1U);
  struct stat about {};
  ASSERT_EQ(::stat(bed_.file(left[0]).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0600U);
  runner.signal(SIGKILL);
  EXPECT_EQ(runner.wait().signal, SIGKILL);
  ASSERT_TRUE(tells(tap, "ended; what it did last may be missing here")) << tap.err();
  EXPECT_TRUE(comes_true([&] { return sockets().empty(); })) << "the tap leaves the dead one's";
  Program next(run({"-q"}));
  ASSERT_TRUE(watches(tap, next));
  send(payment("p-1", 1, 5));
  EXPECT_TRUE(tap.says("  p-1  done "));
}

TEST_F(TapTest, TheNextRunRemovesWhatAKilledOneLeft) {
  Program killed(run({"-q"}));
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  killed.signal(SIGKILL);
  EXPECT_EQ(killed.wait().signal, SIGKILL);
  const Words left = sockets();
  ASSERT_EQ(left.size(), 1U);
  Program next(run({"-q"}));
  EXPECT_TRUE(comes_true([&] { return sockets().size() == 1 && sockets() != left; }));
}

TEST_F(StdinTapTest, ATapThatDoesNotReadHoldsNobodyUpAndSaysWhatItMissed) {
  constexpr std::size_t kMessages = 3'000;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Program tap(this->tap({"--body", "json", "-o", "json"}), {.out = ends[1]});
  ::close(ends[1]);
  Program runner(run({"-o", "jsonl"}), {.held_input = true});
  ASSERT_TRUE(watches(tap, runner));
  runner.say(long_lines(kMessages));
  ASSERT_TRUE(comes_true([&] {
    return count_of(runner.out(), "\"outcome\":\"done\"") == kMessages;
  })) << "held up by its tap";

  const auto missed_in = [](const std::string& text) {
    constexpr std::string_view kMember = "\"not_shown\":";
    std::size_t missed = 0;
    for (std::size_t at = 0; (at = text.find(kMember, at)) != std::string::npos;) {
      at += kMember.size();
      missed += std::strtoul(text.c_str() + at, nullptr, 10);
    }
    return missed;
  };
  const std::string all = read_until(ends[0], [&](const std::string& text) {
    return text.ends_with('\n') &&
           count_of(text, "\"outcome\":\"done\"") + missed_in(text) >= kMessages;
  });
  ::close(ends[0]);
  const std::size_t shown = count_of(all, "\"outcome\":\"done\"");
  EXPECT_EQ(shown + missed_in(all), kMessages);
  EXPECT_GT(shown, 100U);
  EXPECT_GT(missed_in(all), 100U);
  EXPECT_GE(count_of(all, "\"schema\":\"semel.v1.tap_gap\""), 1U);
  EXPECT_EQ(tap.wait().code, 0) << "its reader left";
}

TEST_F(TapTest, ASignalEndsATapWhoseReaderDoesNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Program tap(this->tap({"--body", "json"}), {.out = ends[1]});
  Program runner(run({"-q"}));
  ASSERT_TRUE(watches(tap, runner));
  send(long_lines(100));
  // Full: a byte more would have to wait.
  ASSERT_TRUE(comes_true([&] {
    pollfd full{ends[1], POLLOUT, 0};
    return ::poll(&full, 1, 0) == 0;
  }));
  tap.signal(SIGTERM);
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.signal, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(TapTest, AReaderThatLeavesEndsItThoughNothingComes) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Program tap(this->tap(), {.out = ends[1]});
  ::close(ends[1]);
  ASSERT_TRUE(tells(tap, "waiting for one"));
  ::close(ends[0]);
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(StdinTapTest, WhoTalksRubbishOrNeverReadsIsNoMatterToTheRun) {
  constexpr std::size_t kMessages = 1'000;
  Program runner(run({"-o", "json", "--once"}), {.held_input = true});
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  const auto place = tap::SocketDirectory::beside(bed_.database());
  const std::string name = sockets().at(0);
  const auto connect = [&](std::string_view words) {
    auto connected = place->connect(name);
    EXPECT_EQ(connected.reach, tap::SocketDirectory::Reach::kThere);
    EXPECT_EQ(::send(connected.socket.get(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
    return std::move(connected.socket);
  };
  const auto rubbish = connect("EHLO example.org\r\n");
  const auto silent = connect("{\"semel_tap\":");
  const auto idle = connect("{\"semel_tap\":1,\"consumer\":\"payments\",\"payload\":true}\n");
  { const auto hasty = connect("{\"semel_tap\":1,\"consumer\":\"payments\"}\n"); }
  pollfd welcomed{idle.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&welcomed, 1, 30'000), 1);
  Program tap(this->tap({"--limit", std::to_string(kMessages)}));
  ASSERT_TRUE(watches(tap, runner));
  runner.say(long_lines(kMessages));
  // A run that ends does not wait long for one that reads slowly.
  EXPECT_EQ(tap.wait().code, 0);
  runner.end_input();
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), std::to_string(kMessages)) << ran.out;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(sockets().empty());
}

TEST_F(TapTest, ARunThatCannotBeWatchedRunsAllTheSame) {
  const std::string path = bed_.file(std::string(235, 'd') + ".db");
  std::filesystem::copy_file(bed_.database(), path);
  const Words set = {"--set", "store.sqlite.path=" + path};
  const Ran sent = bed_.semel({"send", "payments", "{\"account\":1}", set[0], set[1]});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const Ran ran = bed_.semel({"run", "--once", set[0], set[1]});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("semel: semel tap cannot watch this run: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("; fix: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("1 delivery"), std::string::npos) << ran.out;
  EXPECT_EQ(bed_.semel({"run", "--once", "-q", set[0], set[1]}).err, "");
}

}  // namespace
}  // namespace semel::test
