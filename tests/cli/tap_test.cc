// semel tap beside real runs: what it shows, whom it survives, and that it holds nobody up.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "tap/place.h"
#include "tests/cli/program.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{30};
constexpr std::string_view kStdin = "{ stdin: {} }";

bool comes_true(const std::function<bool()>& true_now) {
  for (const auto until = steady_clock::now() + kPatience; !true_now();) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

bool tells(const Program& program, std::string_view text) {
  return comes_true([&] { return program.err().find(text) != std::string::npos; });
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

std::string line_of(const std::string& text, std::size_t number) {
  std::size_t begin = 0;
  for (; number > 0; --number) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

class TapTest : public ::testing::Test {
 protected:
  explicit TapTest(std::string_view source = kQueue) : scene_(payments(source)) {}

  Words tap(Words more = {}) const {
    Words words = {"tap", "payments", "-c", scene_.config()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words run(Words more = {}) const {
    Words words = {"run", "-c", scene_.config()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static bool watches(const Program& tap, const Program& runner) {
    return tells(tap, "watching process " + std::to_string(runner.pid()) + "\n");
  }
  void send(const std::string& lines) {
    const Ran sent = scene_.semel({"send", "payments", "-"}, {.input = lines});
    ASSERT_EQ(sent.code, 0) << sent.err;
  }
  Words sockets() const { return tap::Place::beside(scene_.database())->names(); }

  Scene scene_;
};

class StdinTapTest : public TapTest {
 protected:
  StdinTapTest() : TapTest(kStdin) {}
};

TEST_F(TapTest, WaitsForARunAndShowsHowItsDeliveriesEnd) {
  Program tap(this->tap());
  ASSERT_TRUE(tells(tap, "semel: no semel run of payments on sqlite ")) << tap.err();
  Program runner(run());
  ASSERT_TRUE(watches(tap, runner)) << tap.err();
  send(payment("p-1", 1, 5));
  ASSERT_TRUE(tap.says("  p-1  done "));
  send(payment("p-1", 1, 5) + payment("p-1", 1, 6) + "{\"id\":\"p-2\"}\n");
  ASSERT_TRUE(tap.says("  p-1  duplicate  of 20")) << tap.out();
  ASSERT_TRUE(tap.says("  p-1  conflict   key.conflict")) << tap.out();
  ASSERT_TRUE(tap.says("  p-2  dead       payload.invalid")) << tap.out();
  EXPECT_TRUE(tap.out().starts_with("20")) << "the time comes first: " << tap.out();
  EXPECT_NE(line_of(tap.out(), 0).find(" · attempt 1"), std::string::npos) << tap.out();
  EXPECT_EQ(tap.out().find("account"), std::string::npos) << "a payload nobody asked for";
  tap.signal(SIGINT);
  EXPECT_EQ(tap.wait().code, 0);
  EXPECT_EQ(sockets().size(), 1U);
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_TRUE(sockets().empty());
}

TEST_F(TapTest, FiltersAndEndsAtItsLimit) {
  Program tap(this->tap({"--outcome", "duplicate,dead", "--limit", "2", "-o", "json"}));
  Program runner(run({"-q"}));
  ASSERT_TRUE(watches(tap, runner));
  send(payment("p-1", 1, 5) + payment("p-1", 1, 5) + payment("p-2", 1, 5));
  send(payment("p-2", 1, 5) + payment("p-1", 1, 5));
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(count_of(ran.out, "\n"), 2U) << ran.out;
  for (const std::size_t number : {0U, 1U}) {
    const std::string line = line_of(ran.out, number);
    EXPECT_EQ(json_at(line, "/schema"), "semel.v1.delivery") << line;
    EXPECT_EQ(json_at(line, "/outcome"), "duplicate") << line;
    EXPECT_EQ(json_at(line, "/consumer"), "payments") << line;
    EXPECT_EQ(json_at(line, "/pid"), std::to_string(runner.pid())) << line;
    EXPECT_TRUE(json_at(line, "/at").starts_with("20")) << line;
    EXPECT_TRUE(json_at(line, "/completed_at").starts_with("20")) << line;
    EXPECT_EQ(json_at(line, "/payload"), "(absent)") << line;
    EXPECT_EQ(json_at(line, "/payload_json"), "(absent)") << line;
  }
  EXPECT_EQ(json_at(line_of(ran.out, 0), "/key"), "p-1");
  EXPECT_EQ(json_at(line_of(ran.out, 1), "/key"), "p-2");
}

TEST_F(StdinTapTest, ShowsPayloadsAsTheyAreAskedFor) {
  Program json(tap({"--body", "json", "--limit", "3", "-o", "json"}));
  Program hex(tap({"--body", "hex", "--limit", "3", "-o", "jsonl"}));
  Program text(tap({"--body", "json", "--limit", "3"}));
  Program runner(run({"-q"}), {.held_input = true});
  for (const auto* one : {&json, &hex, &text}) ASSERT_TRUE(watches(*one, runner));
  runner.say("{ \"id\": \"p-1\", \"account\": 1, \"amount\": 5 }\n");
  for (const auto* one : {&json, &hex, &text}) {
    ASSERT_TRUE(comes_true([&] { return one->out().find("p-1") != std::string::npos; }));
  }
  runner.say("not json\n\xff\xfe\n");
  const Ran as_json = json.wait(), as_hex = hex.wait(), as_text = text.wait();
  EXPECT_EQ(json_at(line_of(as_json.out, 0), "/payload_json/amount"), "5") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_json.out, 1), "/payload"), "not json") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_json.out, 1), "/key"), "null") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_json.out, 2), "/payload_base64"), "//4=") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_hex.out, 1), "/payload_hex"), "6e6f74206a736f6e") << as_hex.out;
  EXPECT_EQ(line_of(as_text.out, 1), "    {\"id\":\"p-1\",\"account\":1,\"amount\":5}");
  EXPECT_EQ(line_of(as_text.out, 3), "    not json");
  EXPECT_EQ(line_of(as_text.out, 5), "    \\xff\\xfe");
}

TEST_F(StdinTapTest, ShowsAllRunsOfTheStore) {
  Program early(run({"-q"}), {.held_input = true});
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  Program tap(this->tap({"-o", "json"}));
  ASSERT_TRUE(watches(tap, early));
  Program late(run({"-q"}), {.held_input = true});
  ASSERT_TRUE(watches(tap, late));
  early.say(payment("p-1", 1, 5));
  ASSERT_TRUE(tap.says("\"key\":\"p-1\"")) << tap.err();
  late.say(payment("p-2", 1, 5));
  ASSERT_TRUE(tap.says("\"key\":\"p-2\"")) << tap.err();
  EXPECT_EQ(json_at(line_of(tap.out(), 0), "/pid"), std::to_string(early.pid()));
  EXPECT_EQ(json_at(line_of(tap.out(), 1), "/pid"), std::to_string(late.pid()));
  early.end_input();
  early.signal(SIGTERM);
  EXPECT_EQ(early.wait().code, 0);
  ASSERT_TRUE(tells(tap, "process " + std::to_string(early.pid()) + " ended\n")) << tap.err();
  EXPECT_EQ(tap.err().rfind("waiting"), std::string::npos) << tap.err();
  late.say(payment("p-3", 1, 5));
  EXPECT_TRUE(tap.says("\"key\":\"p-3\""));
}

TEST_F(TapTest, AShortRunIsSeenFromItsFirstDelivery) {
  ASSERT_EQ(scene_.semel({"store", "init"}).code, 0);
  send(payment("p-1", 1, 5) + payment("p-2", 1, 5));
  Program tap(this->tap({"--limit", "2"}));
  ASSERT_TRUE(tells(tap, "waiting for one"));
  EXPECT_EQ(scene_.semel({"run", "--once", "-q"}).code, 0);
  const Ran ran = tap.wait();
  EXPECT_NE(ran.out.find("  p-1  done"), std::string::npos) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("  p-2  done"), std::string::npos) << ran.out << ran.err;
}

TEST_F(TapTest, ARunThatIsKilledIsSaidAndItsSocketGoes) {
  Program runner(run({"-q"}));
  Program tap(this->tap());
  ASSERT_TRUE(watches(tap, runner));
  const Words left = sockets();
  ASSERT_EQ(left.size(), 1U);
  struct stat about {};
  ASSERT_EQ(::stat(scene_.file(left[0]).c_str(), &about), 0);
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
  const auto place = tap::Place::beside(scene_.database());
  const std::string name = sockets().at(0);
  const auto connect = [&](std::string_view words) {
    auto connected = place->connect(name);
    EXPECT_EQ(connected.reach, tap::Place::Reach::kThere);
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
  runner.end_input();
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), std::to_string(kMessages)) << ran.out;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(sockets().empty());
  EXPECT_EQ(tap.wait().code, 0);
}

TEST_F(TapTest, WaitsForAStoreThatIsNotThereYet) {
  const std::string path = scene_.file("later.db");
  Program tap(this->tap({"--set", "store.sqlite.path=" + path, "--limit", "1"}));
  ASSERT_TRUE(tells(tap, "waiting for one")) << tap.err();
  Program runner(run({"-q", "--set", "store.sqlite.path=" + path}));
  ASSERT_TRUE(watches(tap, runner));
  const Ran sent =
      scene_.semel({"send", "payments", "{\"account\":1}", "--set", "store.sqlite.path=" + path});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("dead       key.missing"), std::string::npos) << ran.out;
}

TEST_F(TapTest, ARunWithoutTheConsumerIsNotWatched) {
  const std::string other = scene_.file("other.yaml");
  write_file(other,
             "version: 1\nstore: { sqlite: { path: semel.db } }\nconsumers:\n  - name: emails\n" +
                 payments(kQueue));
  Program runner({"run", "-q", other});
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  Program tap(this->tap());
  ASSERT_TRUE(tells(tap, "no semel run of payments")) << tap.err();
  EXPECT_EQ(tap.err().find("watching"), std::string::npos);
}

TEST_F(TapTest, QuietSaysOnlyWhatItWasAskedFor) {
  Program runner(run({"-q"}));
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  Program tap(this->tap({"-q"}));
  for (int i = 0; tap.out().empty() && i < 300; ++i) {
    send(payment("p-" + std::to_string(i), 1, 1));
  }
  EXPECT_NE(tap.out().find("done"), std::string::npos);
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  tap.signal(SIGTERM);
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
}

TEST_F(TapTest, WhatCannotBeIsSaidWithItsFix) {
  write_file(scene_.file("memory.yaml"),
             "version: 1\nstore: { memory: {} }\nconsumers:\n  - name: payments\n"
             "    source: { stdin: {} }\n    key: { from: [json:/id] }\n"
             "    handler: { exec: { command: [cat] } }\n");
  const Ran memory = test::run({"tap", "payments", "-c", scene_.file("memory.yaml")});
  EXPECT_EQ(memory.code, 69) << memory.err;
  EXPECT_NE(memory.err.find("error[R293]"), std::string::npos) << memory.err;
  EXPECT_NE(memory.err.find("fix: "), std::string::npos) << memory.err;
  const Ran consumer = scene_.semel({"tap", "paymnts"});
  EXPECT_EQ(consumer.code, 2);
  EXPECT_NE(consumer.err.find("did you mean \"payments\"?"), std::string::npos) << consumer.err;
  const Ran outcome = scene_.semel({"tap", "payments", "--outcome", "done,dupplicate"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("did you mean \"duplicate\"?"), std::string::npos) << outcome.err;
  const Ran body = scene_.semel({"tap", "payments", "--body", "xml"});
  EXPECT_EQ(body.code, 2);
  EXPECT_NE(body.err.find("one of none, json, hex"), std::string::npos) << body.err;
  const Ran folder =
      scene_.semel({"tap", "payments", "--set", "store.sqlite.path=" + scene_.file("no/such.db")});
  EXPECT_EQ(folder.code, 69);
  EXPECT_NE(folder.err.find("error[R201]"), std::string::npos) << folder.err;
  EXPECT_EQ(scene_.semel({"tap"}).code, 2);
}

TEST_F(TapTest, ARunThatCannotBeWatchedRunsAllTheSame) {
  const std::string path = scene_.file(std::string(235, 'd') + ".db");
  const Words set = {"--set", "store.sqlite.path=" + path};
  const Ran sent = scene_.semel({"send", "payments", "{\"account\":1}", set[0], set[1]});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const Ran ran = scene_.semel({"run", "--once", set[0], set[1]});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("semel: semel tap cannot watch this run: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("; fix: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("1 delivery"), std::string::npos) << ran.out;
  EXPECT_EQ(scene_.semel({"run", "--once", "-q", set[0], set[1]}).err, "");
}

TEST_F(StdinTapTest, ADryRunEndsNothingAndIsNotWatched) {
  Program runner(run({"--dry-run"}), {.held_input = true});
  runner.say(payment("p-1", 1, 5));
  ASSERT_TRUE(runner.says("p-1  would be done"));
  EXPECT_TRUE(sockets().empty());
}

}  // namespace
}  // namespace semel::test
