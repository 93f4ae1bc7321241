// Events on a live Redis that a window does not learn of; none of them changes the effects.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/front.h>
#include <semel/memory.h>
#include <semel/reason.h>
#include <semel/redis.h>

#include "strategies/front.h"
#include "strategies/strategies.h"
#include "tests/conformance/front_suite.h"
#include "tests/support/builders.h"
#include "tests/support/recording_observer.h"
#include "tests/support/redis_server.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/test_environment.h"

namespace semel {
namespace {

using conformance::at;
using std::chrono::milliseconds;
using test::comes_true;

// One process's way of a message: a strategy behind a window on a live server, a store, effects.
class Process {
 public:
  Process(Store& store, ConsumerNumber number, RedisFrontOptions options, std::string name = "pay")
      : number_(number) {
    strategies::FrontOptions front;
    front.consumer = std::move(name);
    front.number = number;
    front.positions = store.facets().positions;
    front.window = open_redis_front(std::move(options)).value();
    front.environment = &system_environment();
    front.observer = &seen;
    front.own_thread = false;
    front_.emplace(std::move(front));
    strategies::Context context;
    context.consumer = "pay";
    context.store = &store;
    context.environment = &system_environment();
    context.observer = &seen;
    context.handler = PlainHandler([this](const Message& message, const Attempt&) {
      ++effects[message.key().text];
      return done();
    });
    strategy_ = strategies::make_fronted(
        strategies::make_strategy(core::StrategyKind::kStateMachine, std::move(context)), *front_);
  }

  // How each ended: 'd' done, 'f' a duplicate by the window, 'r' by the record, '?' else.
  std::string deliver(const std::vector<std::string>& keys) {
    struct Sink final : strategies::OutcomeSink {
      void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
        char how = '?';
        if (outcome.kind == Outcome::Kind::kDone) how = 'd';
        if (outcome.kind == Outcome::Kind::kDuplicate) {
          how = outcome.reason == reason::kFront ? 'f' : 'r';
        }
        ways[delivery.message.key().text] += how;
      }
      std::map<Bytes, std::string> ways;
    } sink;
    std::vector<core::TrackedDelivery> batch;
    for (const auto& key : keys) batch.push_back(test::make_delivery(number_, key));
    strategy_->process(batch, sink);
    std::string all;
    for (const auto& key : keys) all += sink.ways[key];
    return all;
  }
  // Believes the secret anew, however long it took to come here.
  bool knows(const std::string& key) {
    turn();
    const Message message = test::make_message(number_, key);
    const Message* const one = &message;
    return front_->look({&one, 1}).completed.front();
  }
  void turn() { front_->turn(); }

  std::map<Bytes, int> effects;
  test::RecordingObserver seen;

 private:
  const ConsumerNumber number_;
  std::optional<strategies::Front> front_;
  std::unique_ptr<strategies::Strategy> strategy_;
};

class RedisFrontLive : public ::testing::Test {
 protected:
  RedisFrontLive() : store_(make_memory_store()) {
    number_ = store_->attach({"pay", "recipe", false, std::nullopt}).value();
  }
  // The stored names, which may contain any bytes, one line for each.
  static std::vector<std::string> names(const test::RedisServer& server,
                                        const std::string& prefix) {
    constexpr std::size_t kName = sizeof(FrontName);
    const std::string text = server.run({"KEYS", prefix + std::string(kName, '?')});
    std::vector<std::string> all;
    const std::size_t size = prefix.size() + kName;
    for (std::size_t at = 0; at + size <= text.size(); at += size + 1) {
      all.push_back(text.substr(at, size));
    }
    return all;
  }
  std::unique_ptr<Store> store_;
  ConsumerNumber number_{};
};

TEST_F(RedisFrontLive, ADuplicateIsAnsweredByItAndAFlushOnlyForgets) {
  test::RedisServer server(test::RedisServer::fast());
  Process process(*store_, number_, at(server.url(), "f:"));
  EXPECT_EQ(process.deliver({"a", "b"}), "dd");
  ASSERT_TRUE(comes_true([&] { return process.knows("a") && process.knows("b"); }));
  EXPECT_EQ(process.deliver({"a", "c", "b"}), "fdf");
  server.query("FLUSHALL");
  EXPECT_EQ(process.deliver({"a", "b"}), "rr");
  ASSERT_TRUE(comes_true([&] { return process.knows("a"); }))
      << "the record's answer is kept again";
  for (const auto& [key, times] : process.effects) EXPECT_EQ(times, 1) << key;
  EXPECT_TRUE(process.seen.troubles().empty());
}

TEST_F(RedisFrontLive, WhateverElseLiesUnderItsNamesIsUnknown) {
  test::RedisServer server(test::RedisServer::fast());
  Process process(*store_, number_, at(server.url(), "f:"));
  EXPECT_EQ(process.deliver({"known", "twin"}), "dd");
  ASSERT_TRUE(comes_true([&] { return process.knows("known") && process.knows("twin"); }));
  const auto its = names(server, "f:");
  ASSERT_EQ(its.size(), 2U);
  const std::string first = server.run({"GET", its[0]});
  const std::string second = server.run({"GET", its[1]});
  const std::vector<std::vector<std::string>> garbage = {{"SET", "1"},
                                                         {"SET", "completed"},
                                                         {"SET", std::string(16, '\0')},
                                                         {"SET", std::string(1U << 20U, 'x')},
                                                         {"LPUSH", "a list"},
                                                         {"HSET", "a", "hash"},
                                                         {"SADD", "a set"}};
  for (const auto& words : garbage) {
    for (const auto& name : its) {
      server.run({"DEL", name});
      std::vector<std::string> command = {words[0], name};
      command.insert(command.end(), words.begin() + 1, words.end());
      server.run(command);
    }
    EXPECT_FALSE(process.knows("known")) << words[0];
    EXPECT_FALSE(process.knows("twin")) << words[0];
  }
  // Each with the other's mark, and with its own cut short.
  for (const auto& name : its) server.run({"DEL", name});
  server.run({"SET", its[0], second});
  server.run({"SET", its[1], first});
  EXPECT_FALSE(process.knows("known") || process.knows("twin"));
  server.run({"SET", its[0], first.substr(0, 15)});
  server.run({"SET", its[1], second + "x"});
  EXPECT_FALSE(process.knows("known") || process.knows("twin"));
  EXPECT_EQ(process.deliver({"known", "twin"}), "rr");
  EXPECT_TRUE(process.seen.troubles().empty()) << "garbage is no failure";
}

TEST_F(RedisFrontLive, AnotherStoreOnTheSameServerIsNotBelieved) {
  const auto& server = test::RedisServer::shared();
  const std::string prefix = server.new_database() + ":";
  Process process(*store_, number_, at(server.url(), prefix));
  EXPECT_EQ(process.deliver({"a"}), "d");
  ASSERT_TRUE(comes_true([&] { return process.knows("a"); }));
  const auto other_store = make_memory_store();
  const auto number = other_store->attach({"pay", "recipe", false, std::nullopt}).value();
  ASSERT_EQ(number, number_);
  Process other(*other_store, number, at(server.url(), prefix));
  EXPECT_EQ(other.deliver({"a"}), "d");
}

TEST_F(RedisFrontLive, TwoProcessesShareItAndForgettingReachesBoth) {
  const auto& server = test::RedisServer::shared();
  const std::string prefix = server.new_database() + ":";
  Process one(*store_, number_, at(server.url(), prefix));
  Process two(*store_, number_, at(server.url(), prefix));
  one.turn();
  EXPECT_EQ(one.deliver({"a"}), "d");
  ASSERT_TRUE(comes_true([&] { return two.knows("a"); }));
  EXPECT_EQ(two.deliver({"a"}), "f");
  ASSERT_TRUE(store_->facets().records->forget(test::make_message(number_, "a").key().id).value());
  ASSERT_TRUE(reseal_fronts(*store_, number_, system_environment()).value());
  one.turn();
  two.turn();
  EXPECT_EQ(two.deliver({"a"}), "d") << "the operator said so";
}

TEST_F(RedisFrontLive, AServerThatIsKilledIsToldOnceAndNobodyIsDoneTwice) {
  test::RedisServer server(test::RedisServer::fast());
  Process process(*store_, number_, at(server.url(), "f:"));
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(seed);
  test::SeededRandom random(seed);
  std::set<std::string> sent;
  std::size_t by_front = 0;
  const auto round = [&](int count) {
    for (int i = 0; i < count; ++i) {
      std::set<std::string> some;
      for (int k = 0; k < 5; ++k) some.insert(fmt::format("k{}", random.below(80)));
      const std::string ways = process.deliver({some.begin(), some.end()});
      EXPECT_EQ(ways.find('?'), std::string::npos) << ways;
      by_front += static_cast<std::size_t>(std::ranges::count(ways, 'f'));
      sent.insert(some.begin(), some.end());
    }
  };
  round(60);
  ASSERT_TRUE(comes_true([&] { return process.knows(*sent.begin()); }));
  EXPECT_EQ(process.deliver({*sent.begin()}), "f");
  server.kill();
  round(60);
  process.turn();
  round(20);
  EXPECT_EQ(process.seen.troubles().size(), 1U);
  server.start();
  ASSERT_TRUE(comes_true([&] {
    process.turn();
    return process.seen.troubles().size() == 2;
  }));
  EXPECT_TRUE(process.seen.troubles()[1].mended);
  round(60);
  EXPECT_EQ(process.seen.troubles().size(), 2U);
  EXPECT_EQ(process.effects.size(), sent.size());
  for (const auto& [key, times] : process.effects) EXPECT_EQ(times, 1) << key;
  const std::string last = *sent.rbegin();
  process.deliver({last});
  ASSERT_TRUE(comes_true([&] { return process.knows(last); })) << "it is asked again";
}

TEST_F(RedisFrontLive, AServerThatHangsCostsOneTimeLimit) {
  const auto& server = test::RedisServer::shared();
  test::TcpProxy proxy(server.port());
  auto options =
      at(fmt::format("redis://127.0.0.1:{}/0", proxy.port()), server.new_database() + ":");
  options.timeout = milliseconds(3'000);
  Process process(*store_, number_, options);
  EXPECT_EQ(process.deliver({"a"}), "d");
  const auto hung = proxy.inject({.text = "GETRANGE", .then = test::TcpProxy::Then::kStall});
  EXPECT_EQ(process.deliver({"a"}), "r");
  EXPECT_EQ(proxy.fired(hung), 1U);
  const auto connections = proxy.connections();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(process.deliver({"a"}), "r");
  EXPECT_EQ(proxy.connections(), connections) << "it was asked although it is away";
  EXPECT_EQ(process.effects["a"], 1);
  EXPECT_EQ(process.seen.troubles().size(), 1U);
}

TEST_F(RedisFrontLive, AServerThatIsFullOnlyForgets) {
  test::RedisServer server(test::RedisServer::fast());
  Process process(*store_, number_, at(server.url(), "f:"));
  server.query("CONFIG SET maxmemory 1");
  EXPECT_EQ(process.deliver({"a", "b"}), "dd");
  // The refusal is heard of by a later look.
  ASSERT_TRUE(comes_true([&] {
    EXPECT_EQ(process.deliver({"a"}), "r");
    return !process.seen.troubles().empty();
  }));
  EXPECT_EQ(process.deliver({"c"}), "d");
  process.turn();
  EXPECT_EQ(process.seen.troubles().size(), 1U);
  server.query("CONFIG SET maxmemory 64mb");
  ASSERT_TRUE(comes_true([&] {
    process.turn();
    return process.seen.troubles().size() == 2;
  }));
  EXPECT_EQ(process.deliver({"a"}), "r");
  EXPECT_TRUE(comes_true([&] { return process.knows("a"); }));
  for (const auto& [key, times] : process.effects) EXPECT_EQ(times, 1) << key;
}

}  // namespace
}  // namespace semel
