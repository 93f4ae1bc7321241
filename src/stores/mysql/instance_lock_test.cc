// Which instances count as gone, while the server still executes a dead process's statements.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <future>
#include <memory>

#include "stores/mysql/instance_lock.h"
#include "stores/mysql/schema.h"
#include "stores/mysql/url.h"
#include "system/event_fd.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

constexpr const char* kAsksOwnSession = "START TRANSACTION READ WRITE";

class MySqlInstanceLock : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  MySqlInstanceLock() {
    endpoint_.target = target_of(server_.url(database_));
    Wire wire(endpoint_.target);
    make_schema(wire);
    survivor_ = process();
    looking_ = session();
  }
  std::unique_ptr<InstanceLock> process(std::chrono::milliseconds grace = {}) const {
    return std::make_unique<InstanceLock>(endpoint_, dialect_, grace);
  }
  // As if a server, or a proxy before it, went away.
  void cut_all() const {
    const std::string others =
        "FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()";
    EXPECT_TRUE(test::comes_true([&] {
      try {
        server_.query(
            database_,
            server_.query(database_, "SELECT GROUP_CONCAT('KILL ', id SEPARATOR ';') " + others));
      } catch (const std::exception&) {
        // One has ended by itself, and the others are still there; or there are none.
      }
      return server_.query(database_, "SELECT COUNT(*) " + others) == "0";
    }));
  }
  bool is_free(std::uint64_t reservation) const {
    const std::string name = lock_name("reserved", std::to_string(reservation >> 1U));
    return server_.query(database_, "SELECT IS_FREE_LOCK(" + name + ")") == "1";
  }
  std::unique_ptr<Connection> session() const { return std::make_unique<Connection>(endpoint_); }
  bool gone(std::int64_t number) {
    const bool alone = survivor_->is_gone(*looking_, number);
    const auto numbers = survivor_->gone(*looking_);
    const bool among_all = std::ranges::find(numbers, number) != numbers.end();
    EXPECT_TRUE(among_all || !alone) << number;
    return alone && among_all;
  }
  // A server frees the locks of a connection a moment after it has ended.
  bool gone_soon(std::int64_t number) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!gone(number)) {
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }

  const test::MySqlFamilyServer& server_ = GetParam()();
  const std::string database_ = server_.new_database();
  const Dialect dialect_{};
  Endpoint endpoint_;
  std::unique_ptr<InstanceLock> survivor_;
  std::unique_ptr<Connection> looking_;
};

TEST_P(MySqlInstanceLock, AnInstanceIsGoneWithTheLastOfItsSessions) {
  auto dying = process();
  auto first = session();
  auto second = session();
  const std::int64_t number = dying->number_for(*first);
  EXPECT_EQ(dying->number_for(*first), number) << "said once for each session";
  EXPECT_EQ(dying->number_for(*second), number);
  EXPECT_FALSE(gone(number));
  dying.reset();
  first.reset();
  // Enough time for the server to notice both.
  auto other = process();
  const std::int64_t another = other->number();
  other.reset();
  ASSERT_TRUE(gone_soon(another));
  EXPECT_FALSE(gone(number)) << "what its session is about to commit would be freed by nobody";
  second.reset();
  EXPECT_TRUE(gone_soon(number));
}

TEST_P(MySqlInstanceLock, ASessionThatWroteNothingHoldsNobody) {
  auto dying = process();
  const auto idle = session();
  const std::int64_t number = dying->number();
  EXPECT_FALSE(gone(number));
  dying.reset();
  EXPECT_TRUE(gone_soon(number));
}

// A replica that takes over has run for long, and so has a server behind a restarted proxy.
TEST_P(MySqlInstanceLock, WhoLostItsOwnSessionCountsNobodyAsGoneForAWhile) {
  constexpr std::chrono::seconds kGrace{5};
  ASSERT_TRUE(test::comes_true([&] {
    return std::stoi(server_.query(database_, "SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime'")
                         .substr(7)) > kGrace.count();
  })) << "of a server that has just begun nobody counts as gone either";
  const auto first = process(kGrace);
  const std::int64_t own = first->number();
  bool within = false;
  for (int tries = 0; tries < 10 && !within; ++tries) {
    auto other = process();
    const std::int64_t number = other->number();
    ASSERT_EQ(first->gone(*session()), std::vector<std::int64_t>{}) << "it lives";
    cut_all();
    const auto cut = std::chrono::steady_clock::now();
    const auto looking = session();
    const auto before = first->gone(*looking);  // it has not noticed yet
    const std::int64_t again = first->number();
    const auto after = first->gone(*looking);
    const bool alone = first->is_gone(*looking, number);
    // On a busy machine the grace may be over, which proves nothing.
    within = std::chrono::steady_clock::now() - cut < kGrace;
    if (!within) continue;
    EXPECT_EQ(again, own);
    EXPECT_TRUE(before.empty());
    EXPECT_TRUE(after.empty()) << "it has not come back yet";
    EXPECT_FALSE(alone);
    EXPECT_EQ(other->number(), number) << "nobody took it over";
  }
  ASSERT_TRUE(within);
}

TEST_P(MySqlInstanceLock, TheEpochGrowsBeforeANewSessionClaims) {
  const auto epoch = [&] {
    return std::stoi(server_.query(database_, "SELECT epoch FROM semel_meta"));
  };
  test::TcpProxy proxy(server_.port());
  Endpoint away = endpoint_;
  away.target.port = static_cast<unsigned>(proxy.port());
  InstanceLock first(away, dialect_, std::chrono::milliseconds(0));
  const std::int64_t number = first.number_for(*session());
  const int before = epoch();
  EXPECT_EQ(first.number_for(*session()), number);
  EXPECT_EQ(epoch(), before) << "nothing was lost";
  // The server of our own session vanished unnoticed; the new session is at the one that took over.
  const auto cut = proxy.inject({.text = kAsksOwnSession, .then = test::TcpProxy::Then::kLose});
  EXPECT_EQ(first.number_for(*session()), number);
  EXPECT_EQ(proxy.fired(cut), 1U);
  EXPECT_GT(epoch(), before);
}

TEST_P(MySqlInstanceLock, AReservationThatAnotherTookMeanwhileIsLost) {
  constexpr std::uint64_t kName = 0x1234'5678'9abc'def0;
  const auto first = process(), second = process();
  auto taken = first->try_take(kName);
  ASSERT_NE(taken, nullptr);
  first->number();
  EXPECT_FALSE(first->lost(kName));
  cut_all();
  // The first has not noticed yet.
  auto other = second->try_take(kName);
  ASSERT_NE(other, nullptr);
  first->number();
  EXPECT_TRUE(first->lost(kName)) << "both would read, and save";
  EXPECT_FALSE(second->lost(kName));
  taken.reset();
  other.reset();
  EXPECT_NE(first->try_take(kName), nullptr);
  EXPECT_FALSE(first->lost(kName));
}

// Cut off unnoticed: the server keeps the old session, and its locks, until it notices.
TEST_P(MySqlInstanceLock, AReservationOfItsOwnLateSessionIsNotLost) {
  constexpr std::uint64_t kStays = 0x1234'5678'9abc'def0, kGoes = 0x2345'6789'abcd'ef01;
  test::TcpProxy proxy(server_.port());
  system::EventFd stop;
  Endpoint away = endpoint_;
  away.target.port = static_cast<unsigned>(proxy.port());
  away.stops[0] = stop.get();
  InstanceLock first(away, dialect_, std::chrono::milliseconds(0));
  const auto second = process();
  const auto stays = first.try_take(kStays), goes = first.try_take(kGoes);
  ASSERT_NE(stays, nullptr);
  ASSERT_NE(goes, nullptr);
  first.number();
  const auto stalled =
      proxy.inject({.text = kAsksOwnSession, .then = test::TcpProxy::Then::kStall});
  auto looking = std::async(std::launch::async, [&] { first.number_for(*session()); });
  ASSERT_TRUE(proxy.wait_fired(stalled));
  // Ends the wait for an answer; it reconnects, now or once it need not stop.
  stop.signal();
  looking.wait();
  stop.drain();
  ASSERT_TRUE(test::comes_true([&] {
    try {
      return first.number() != 0;
    } catch (const sql::Failure&) {
      return false;  // it retries after a while
    }
  }));
  ASSERT_FALSE(is_free(kStays)) << "the server has noticed, and this tells nothing";
  EXPECT_FALSE(first.lost(kStays)) << "the session that has it is its own";
  EXPECT_FALSE(first.lost(kGoes));
  proxy.clear();
  ASSERT_TRUE(test::comes_true([&] { return is_free(kStays) && is_free(kGoes); }));
  const auto other = second->try_take(kGoes);
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(first.lost(kStays));
  EXPECT_EQ(second->try_take(kStays), nullptr) << "it has it again";
  EXPECT_TRUE(first.lost(kGoes)) << "both would read, and save";
}

// The server of our own session vanished unnoticed, and another has taken over, without the locks.
TEST_P(MySqlInstanceLock, ASweepAsksItsOwnSessionToo) {
  constexpr std::chrono::seconds kGrace{5};
  ASSERT_TRUE(test::comes_true([&] {
    return std::stoi(server_.query(database_, "SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime'")
                         .substr(7)) > kGrace.count();
  })) << "of a server that has just begun nobody counts as gone either";
  test::TcpProxy proxy(server_.port());
  Endpoint away = endpoint_;
  away.target.port = static_cast<unsigned>(proxy.port());
  InstanceLock first(away, dialect_, kGrace);
  first.number();
  auto other = process();
  const std::int64_t number = other->number();
  other.reset();
  ASSERT_TRUE(test::comes_true([&] {
    return first.gone(*session()) == std::vector{number} && first.is_gone(*session(), number);
  })) << "so it counts";
  const auto cut = proxy.inject({.text = kAsksOwnSession, .then = test::TcpProxy::Then::kLose});
  EXPECT_TRUE(first.gone(*session()).empty()) << "it may be coming back";
  EXPECT_EQ(proxy.fired(cut), 1U);
}

TEST_P(MySqlInstanceLock, WhatHasNoSessionCountsNobodyAsGoneAndConnectsInNoTransaction) {
  test::TcpProxy proxy(server_.port());
  Endpoint away = endpoint_;
  away.target.port = static_cast<unsigned>(proxy.port());
  InstanceLock first(away, dialect_, std::chrono::milliseconds(0));
  first.number();
  auto other = process();
  const std::int64_t number = other->number();
  other.reset();
  ASSERT_TRUE(test::comes_true([&] { return first.is_gone(*session(), number); }));
  proxy.inject({.text = kAsksOwnSession, .then = test::TcpProxy::Then::kLose});
  proxy.refuse(true);
  EXPECT_TRUE(first.gone(*session()).empty());
  proxy.refuse(false);
  const std::size_t before = proxy.connections();
  EXPECT_FALSE(first.is_gone(*session(), number));
  EXPECT_EQ(proxy.connections(), before);
  EXPECT_TRUE(test::comes_true([&] {
    return first.gone(*session()) == std::vector{number} && first.is_gone(*session(), number);
  })) << "the next sweep opens it";
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlInstanceLock,
                         testing::ValuesIn(test::shared_mysql_servers()), [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

}  // namespace
}  // namespace semel::mysql
