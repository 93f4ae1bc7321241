// A tap: runs that come, go, die and send garbage.
#include "tap/watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "tap/server.h"
#include "tests/support/builders.h"
#include "tests/support/temp_dir.h"

namespace semel::tap {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kWithin{20'000};

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() : watch_(dir_.file("semel.db"), {"payments"}) {}

  std::unique_ptr<Server> run(std::vector<std::string> consumers = {"payments"}) {
    ServerOptions options;
    options.database = dir_.file("semel.db");
    options.consumers = std::move(consumers);
    auto opened = Server::open(std::move(options));
    EXPECT_TRUE(opened);
    return *std::move(opened);
  }
  static void end(Server& server, std::string_view key) {
    server.on_ended("payments", test::make_delivery(ConsumerNumber{1}, key), Outcome{}, {});
  }
  // Steps until an event of this kind comes; keeps the others.
  template <class T>
  std::optional<T> next() {
    const auto until = steady_clock::now() + kWithin;
    while (steady_clock::now() < until) {
      for (auto it = met_.begin(); it != met_.end(); ++it) {
        if (!std::holds_alternative<T>(*it)) continue;
        T found = std::get<T>(std::move(*it));
        met_.erase(it);
        return found;
      }
      step();
    }
    ADD_FAILURE() << "it took too long";
    return std::nullopt;
  }
  void step(milliseconds patience = milliseconds{100}) {
    const auto stepped = watch_.step({}, patience, [this](Event event) {
      met_.push_back(std::move(event));
      return true;
    });
    EXPECT_TRUE(stepped);
  }
  // Listens where a run would, and answers with the given text.
  SocketDirectory::Listening pose() {
    auto place = SocketDirectory::beside(dir_.file("semel.db"));
    auto listening = place->listen();
    EXPECT_TRUE(listening);
    return *std::move(listening);
  }
  void answer(const SocketDirectory::Listening& pose, std::string_view words) {
    system::Descriptor caller;
    const auto until = steady_clock::now() + kWithin;
    while (!caller.valid() && steady_clock::now() < until) {
      step(milliseconds{10});
      caller = system::Descriptor(::accept(pose.socket.get(), nullptr, nullptr));
    }
    ASSERT_TRUE(caller.valid());
    EXPECT_EQ(::send(caller.get(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
  }

  test::TempDir dir_;
  Watch watch_;
  std::vector<Event> met_;
};

TEST_F(WatchTest, FollowsAllRunsOfTheStoreAsTheyComeAndGo) {
  EXPECT_TRUE(watch_.nobody());
  auto one = run();
  ASSERT_TRUE(next<Attached>());
  end(*one, "p-1");
  EXPECT_EQ(next<Shown>()->event.key, "p-1");
  auto two = run();
  ASSERT_TRUE(next<Attached>());
  EXPECT_EQ(watch_.attached(), 2U);
  end(*two, "p-2");
  EXPECT_EQ(next<Shown>()->event.key, "p-2");
  one.reset();
  const auto detached = next<Detached>();
  ASSERT_TRUE(detached);
  EXPECT_TRUE(detached->whole);
  EXPECT_EQ(detached->pid, ::getpid());
  EXPECT_EQ(watch_.attached(), 1U);
  end(*two, "p-3");
  EXPECT_EQ(next<Shown>()->event.key, "p-3");
  two.reset();
  ASSERT_TRUE(next<Detached>());
  EXPECT_TRUE(watch_.nobody());
}

TEST_F(WatchTest, ANewRunIsMetAtOnce) {
  step(milliseconds{0});
  bool at_once = false;
  for (int tries = 0; tries < 5 && !at_once; ++tries) {
    auto server = run();
    const auto began = steady_clock::now();
    ASSERT_TRUE(next<Attached>());
    at_once = steady_clock::now() - began < milliseconds{900};
    server.reset();
    ASSERT_TRUE(next<Detached>());
  }
  EXPECT_TRUE(at_once) << "only the regular look found it";
}

TEST_F(WatchTest, ARunWithoutTheConsumerIsNobody) {
  const auto server = run({"emails"});
  const auto until = steady_clock::now() + kWithin;
  do {
    step();
  } while (!watch_.nobody() && steady_clock::now() < until);
  EXPECT_TRUE(watch_.nobody());
  EXPECT_EQ(watch_.attached(), 0U);
  EXPECT_TRUE(met_.empty());
}

TEST_F(WatchTest, WhatTheDeadLeftIsRemoved) {
  { const auto dead = pose(); }
  step();
  EXPECT_TRUE(watch_.nobody());
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(WatchTest, ARunThatDiesSaysNoGoodbye) {
  const auto listening = pose();
  answer(listening, line_of(Hello{77, true}) + "{\"at\":1,\"outc");
  const auto detached = next<Detached>();
  ASSERT_TRUE(detached);
  EXPECT_EQ(detached->pid, 77);
  EXPECT_FALSE(detached->whole);
}

TEST_F(WatchTest, WhoTalksNonsenseIsToldOnceAndTheOthersGoOn) {
  const auto good = run();
  ASSERT_TRUE(next<Attached>());
  const auto listening = pose();
  answer(listening, "220 smtp.example.org ESMTP\n");
  const auto trouble = next<Unwatchable>();
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->error.code, "R292");
  EXPECT_NE(trouble->error.message.find(listening.name), std::string::npos);
  // Retried, but not reported again.
  answer(listening, "{\"semel_tap\":2,\"pid\":1}\n");
  end(*good, "p-1");
  EXPECT_EQ(next<Shown>()->event.key, "p-1");
  for (const Event& event : met_) EXPECT_FALSE(std::holds_alternative<Unwatchable>(event));
}

TEST_F(WatchTest, ARefusalIsToldEvenWhereTheRequestCouldNotBeSaid) {
  const auto place = SocketDirectory::beside(dir_.file("semel.db"));
  const auto server = run();
  std::vector<SocketDirectory::Connected> crowd;
  for (int i = 0; i < 16; ++i) crowd.push_back(place->connect(place->names().at(0)));
  const auto trouble = next<Unwatchable>();
  ASSERT_TRUE(trouble);
  EXPECT_NE(trouble->error.message.find("too many"), std::string::npos) << trouble->error.message;
  EXPECT_TRUE(watch_.nobody());
  crowd.clear();
  EXPECT_TRUE(next<Attached>()) << "it is tried again";
}

TEST_F(WatchTest, AnEndingBeforeTheHelloIsNonsense) {
  const auto listening = pose();
  answer(listening, "{\"at\":1,\"outcome\":\"done\"}\n");
  EXPECT_TRUE(next<Unwatchable>());
}

TEST_F(WatchTest, WhoHasSeenEnoughIsGivenNoMore) {
  const auto server = run();
  ASSERT_TRUE(next<Attached>());
  for (int i = 0; i < 10; ++i) end(*server, std::to_string(i));
  int seen = 0;
  const auto until = steady_clock::now() + kWithin;
  while (seen < 3 && steady_clock::now() < until) {
    (void)watch_.step({}, milliseconds{100}, [&](const Event&) { return ++seen < 3; });
  }
  EXPECT_EQ(seen, 3);
}

TEST_F(WatchTest, AStoreWithoutAFolderIsSaid) {
  Watch lost(dir_.file("no/such/semel.db"), {"payments"});
  const auto stepped = lost.step({}, milliseconds{0}, [](const Event&) { return true; });
  ASSERT_FALSE(stepped);
  EXPECT_EQ(stepped.error().code, "R201");
}

}  // namespace
}  // namespace semel::tap
