// Which instances count as gone, while the server still executes a dead process's statements.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <future>
#include <memory>

#include "stores/postgres/instance_lock.h"
#include "stores/postgres/schema.h"
#include "system/event_fd.h"
#include "tests/support/postgres_server.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::PostgresServer;

class InstanceLockTest : public testing::Test {
 protected:
  InstanceLockTest() {
    PGconn* const connection = connect(endpoint_);
    make_schema(connection, endpoint_.schema);
    PQfinish(connection);
  }
  std::unique_ptr<InstanceLock> process(milliseconds grace = 0ms) const {
    return std::make_unique<InstanceLock>(endpoint_, dialect_, InstanceLockOptions{false, grace});
  }
  // As if a server, or a proxy before it, went away.
  void cut_all() const {
    server_.query(database_,
                  "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
                  "current_database() AND pid <> pg_backend_pid()");
    EXPECT_TRUE(test::comes_true([this] {
      return server_.query(database_,
                           "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                           "current_database() AND pid <> pg_backend_pid()") == "0";
    }));
  }
  // Waits until the server has run for longer than the grace of these tests.
  bool server_has_run_for_long() const {
    return test::comes_true([this] {
      return server_.query(
                 database_,
                 "SELECT clock_timestamp() - pg_postmaster_start_time() > interval '6 s'") == "t";
    });
  }
  bool is_free(std::uint64_t reservation) const {
    return server_.query(database_,
                         fmt::format("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "
                                     "AND objid = {}",
                                     static_cast<std::uint32_t>(reservation >> 1U))) == "0";
  }
  std::unique_ptr<Connection> session() const {
    return std::make_unique<Connection>(endpoint_, dialect_, texts_);
  }
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

  const PostgresServer& server_ = PostgresServer::shared();
  const std::string database_ = server_.new_database();
  const Endpoint endpoint_{server_.url(database_), "semel"};
  const Dialect dialect_{endpoint_.schema};
  const SessionTexts texts_{dialect_, endpoint_.clock};
  const std::unique_ptr<InstanceLock> survivor_ = process();
  const std::unique_ptr<Connection> looking_ = session();
};

// Names have up to 63 bytes, and the server takes no longer one for a channel.
TEST(ChannelOfASchema, IsShortEnoughAndItsOwn) {
  EXPECT_EQ(channel_of("semel"), "semel.semel");
  EXPECT_EQ(channel_of(std::string(57, 's')).size(), 63U);
  const std::string longest(63, 's');
  EXPECT_LE(channel_of(longest).size(), 63U);
  EXPECT_NE(channel_of(longest), channel_of(std::string(62, 's')));
}

TEST_F(InstanceLockTest, AnInstanceIsGoneWithTheLastOfItsSessions) {
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

TEST_F(InstanceLockTest, ASessionThatWroteNothingHoldsNobody) {
  auto dying = process();
  const auto idle = session();
  const std::int64_t number = dying->number();
  EXPECT_FALSE(gone(number));
  dying.reset();
  EXPECT_TRUE(gone_soon(number));
}

// A standby that takes over has run for long, and so has a server behind a restarted proxy.
TEST_F(InstanceLockTest, WhoLostItsOwnSessionCountsNobodyAsGoneForAWhile) {
  constexpr milliseconds kGrace = 5s;
  ASSERT_TRUE(server_has_run_for_long())
      << "of a server that has just begun nobody counts as gone either";
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

TEST_F(InstanceLockTest, TheEpochGrowsBeforeANewSessionClaims) {
  const auto epoch = [&] {
    return std::stoi(server_.query(database_, "SELECT epoch FROM semel.semel_meta"));
  };
  const auto first = process();
  const auto before_cut = session();
  const std::int64_t number = first->number_for(*before_cut);
  const int before = epoch();
  EXPECT_EQ(first->number_for(*session()), number);
  EXPECT_EQ(epoch(), before) << "nothing was lost";
  cut_all();
  // Where another server has taken over, its session exists before our own is missed.
  EXPECT_EQ(first->number_for(*session()), number);
  EXPECT_GT(epoch(), before);
}

TEST_F(InstanceLockTest, AReservationThatAnotherTookMeanwhileIsLost) {
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
  test::comes_true([&] {
    first->gone(*session());  // checks its session
    return first->lost(kName);
  });
  EXPECT_TRUE(first->lost(kName)) << "both would read, and save";
  EXPECT_FALSE(second->lost(kName));
  taken.reset();
  other.reset();
  EXPECT_NE(first->try_take(kName), nullptr);
  EXPECT_FALSE(first->lost(kName));
}

// Cut off unnoticed: the server keeps the old session, and its locks, until it notices.
TEST_F(InstanceLockTest, AReservationOfItsOwnLateSessionIsNotLost) {
  constexpr std::uint64_t kStays = 0x1234'5678'9abc'def0, kGoes = 0x2345'6789'abcd'ef01;
  test::TcpProxy proxy(server_.port());
  system::EventFd stop;
  Endpoint away = endpoint_;
  away.url = fmt::format("postgresql://postgres@127.0.0.1:{}/{}", proxy.port(), database_);
  away.stops[0] = stop.get();
  InstanceLock first(away, dialect_, InstanceLockOptions{false, 0ms});
  const auto second = process();
  const auto stays = first.try_take(kStays), goes = first.try_take(kGoes);
  ASSERT_NE(stays, nullptr);
  ASSERT_NE(goes, nullptr);
  first.number();
  const auto stalled =
      proxy.inject({.text = "transaction_read_only", .then = test::TcpProxy::Then::kStall});
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
TEST_F(InstanceLockTest, ASweepAsksItsOwnSessionToo) {
  constexpr milliseconds kGrace = 5s;
  ASSERT_TRUE(server_has_run_for_long())
      << "of a server that has just begun nobody counts as gone either";
  test::TcpProxy proxy(server_.port());
  Endpoint away = endpoint_;
  away.url = fmt::format("postgresql://postgres@127.0.0.1:{}/{}", proxy.port(), database_);
  InstanceLock first(away, dialect_, InstanceLockOptions{false, kGrace});
  first.number();
  auto other = process();
  const std::int64_t number = other->number();
  other.reset();
  ASSERT_TRUE(test::comes_true([&] {
    return first.gone(*session()) == std::vector{number} && first.is_gone(*session(), number);
  })) << "so it counts";
  const auto cut =
      proxy.inject({.text = "transaction_read_only", .then = test::TcpProxy::Then::kLose});
  EXPECT_TRUE(first.gone(*session()).empty()) << "it may be coming back";
  EXPECT_EQ(proxy.fired(cut), 1U);
}

TEST_F(InstanceLockTest, WhatHasNoSessionCountsNobodyAsGoneAndConnectsInNoTransaction) {
  test::TcpProxy proxy(server_.port());
  Endpoint away = endpoint_;
  away.url = fmt::format("postgresql://postgres@127.0.0.1:{}/{}", proxy.port(), database_);
  InstanceLock first(away, dialect_, InstanceLockOptions{false, 0ms});
  first.number();
  auto other = process();
  const std::int64_t number = other->number();
  other.reset();
  ASSERT_TRUE(test::comes_true([&] { return first.is_gone(*session(), number); }));
  proxy.inject({.text = "transaction_read_only", .then = test::TcpProxy::Then::kLose});
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

}  // namespace
}  // namespace semel::postgres
