// A connection to a real server.
#include "clients/redis/connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <optional>

#include "clients/redis/pool.h"
#include "clients/redis/test_client.h"
#include "clients/redis/test_played_server.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/waiting.h"

namespace semel::redis {
namespace {

using test::RedisServer;
using test::TcpProxy;

Target through(const TcpProxy& proxy) {
  return target_of(fmt::format("redis://127.0.0.1:{}", proxy.port()));
}

TEST(RedisConnection, WhatCameBeforeTheEndIsReturnedBeforeItIsSaid) {
  PlayedServer server({PlayedServer::welcome(), "+first\r\n+second\r\n"});
  Connection connection(server.target());
  for (int i = 0; i < 3; ++i) connection.send({"PING"});
  connection.begin();
  std::vector<Bytes> answers;
  const Error ended = error_from([&] {
    for (;;) {
      pollfd watched{connection.descriptor(), POLLIN, 0};
      ASSERT_EQ(::poll(&watched, 1, 20'000), 1);
      for (const Reply& reply : connection.take_some(Loss::kNothingDone)) {
        answers.push_back(reply.bytes);
      }
    }
  });
  EXPECT_EQ(ended.code, "R250");
  EXPECT_EQ(answers, (std::vector<Bytes>{"first", "second"}));
}

TEST(RedisConnection, AnswersComeInOrderWithErrorsAmongThem) {
  Connection connection(target_of(shared().url()));
  const std::string key = shared().new_database();
  connection.send({"SET", key, "text"});
  connection.send({"INCR", key});
  connection.send({"GET", key});
  connection.send({"GET", key + "none"});
  connection.send({"LRANGE", key + "none", "0", "-1"});
  const auto replies = connection.run(Loss::kNothingDone);
  ASSERT_EQ(replies.size(), 5U);
  EXPECT_EQ(replies[0].kind, Reply::Kind::kStatus);
  EXPECT_TRUE(replies[1].is_error());
  EXPECT_EQ(replies[2].bytes, "text");
  EXPECT_EQ(replies[3].kind, Reply::Kind::kNil);
  EXPECT_EQ(replies[4].kind, Reply::Kind::kList);
  EXPECT_TRUE(connection.whole()) << "an error of a command is none of the connection";
  EXPECT_EQ(error_from([&] { connection.ask({"INCR", key}, Loss::kInDoubt); }).code, "R200");
}

TEST(RedisConnection, MuchGoesBothWaysAtOnce) {
  Connection connection(target_of(shared().url()));
  const Bytes big(1 << 20, 'x');
  for (int i = 0; i < 40; ++i) connection.send({"ECHO", big});
  const auto replies = connection.run(Loss::kNothingDone);
  ASSERT_EQ(replies.size(), 40U);
  for (const Reply& reply : replies) EXPECT_TRUE(reply.bytes == big);
}

TEST(RedisConnection, BySocketAndWithADatabaseAndANameOfItsOwn) {
  Connection connection(target_of(fmt::format("redis+unix://{}?db=3", shared().socket())));
  const Bytes self = connection.ask({"CLIENT", "INFO"}, Loss::kNothingDone).bytes;
  EXPECT_NE(self.find(" db=3 "), std::string::npos) << self;
  EXPECT_NE(self.find(" name=semel "), std::string::npos) << self;
  EXPECT_EQ(connection.run_id().size(), 40U);
}

TEST(RedisConnection, ADatabaseThatIsNotThere) {
  Target target = target_of(shared().url());
  target.database = 1'000'000;
  EXPECT_EQ(error_from([&] { Connection connection(target); }).code, "R252");
}

TEST(RedisConnection, APasswordAndAUser) {
  const RedisServer locked(
      {.arguments = {"--requirepass", "right", "--user", "worker", "on", ">hers", "~*", "+@all"}});
  const auto url = [&](const std::string& account) {
    return fmt::format("redis://{}127.0.0.1:{}", account, locked.port());
  };
  Connection by_password(target_of(url(":right@")));
  Connection by_user(target_of(url("worker:hers@")));
  EXPECT_EQ(by_user.ask({"ACL", "WHOAMI"}, Loss::kNothingDone).bytes, "worker");
  for (const char* account : {"", ":wrong@", "worker:wrong@", "nobody:hers@"}) {
    const Error error = error_from([&] { Connection connection(target_of(url(account))); });
    EXPECT_EQ(error.code, "R251") << account << " " << error.message;
    EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
    EXPECT_EQ(error.message.find("wrong"), std::string::npos) << error.message;
  }
}

TEST(RedisConnection, AServerThatIsNotThere) {
  const int port = test::free_port();
  Error error = error_from(
      [&] { Connection connection(target_of(fmt::format("redis://127.0.0.1:{}", port))); });
  EXPECT_EQ(error.code, "R250");
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_EQ(
      error_from([] { Connection connection(target_of("redis+unix:///nowhere/at/all")); }).code,
      "R250");
}

TEST(RedisConnection, OneThatTakesNoMoreConnectionsSaysSo) {
  const RedisServer full({.arguments = {"--maxclients", "1"}});
  std::optional<Connection> first;
  // A client that asked whether it runs may be about to end.
  ASSERT_TRUE(test::comes_true([&] {
    try {
      first.emplace(target_of(full.url()));
    } catch (const core::Failure&) {
      return false;
    }
    return true;
  }));
  const Error error = error_from([&] { Connection second(target_of(full.url())); });
  EXPECT_EQ(error.code, "R254") << error.message;
}

TEST(RedisConnection, ALostAnswerSaysWhatItMayMean) {
  for (const Loss loss : {Loss::kNothingDone, Loss::kInDoubt}) {
    TcpProxy proxy(shared().port());
    Connection connection(through(proxy));
    const auto fault = proxy.inject({.text = "INCR", .then = TcpProxy::Then::kWithhold});
    const std::string key = shared().new_database();
    const Error error = error_from([&] { connection.ask({"INCR", key}, loss); });
    EXPECT_EQ(proxy.fired(fault), 1U);
    EXPECT_EQ(error.kind, loss == Loss::kInDoubt ? ErrorKind::kInDoubt : ErrorKind::kUnavailable);
    EXPECT_EQ(error.code, "R250");
    EXPECT_FALSE(connection.whole());
    EXPECT_EQ(shared().query("GET " + key), "1") << "it was done";
  }
}

TEST(RedisConnection, AnAnswerThatEndsHalfWayIsALostOne) {
  TcpProxy proxy(shared().port());
  Connection connection(through(proxy));
  const auto fault =
      proxy.inject({.heard = TcpProxy::Side::kServer, .bytes = 1000, .then = TcpProxy::Then::kCut});
  const Bytes big(100'000, 'x');
  EXPECT_EQ(error_from([&] {
              connection.ask({"ECHO", big}, Loss::kInDoubt);
            }).kind,
            ErrorKind::kInDoubt);
  EXPECT_EQ(proxy.fired(fault), 1U);
}

TEST(RedisConnection, OneThatIsSilentForTooLongIsLost) {
  TcpProxy proxy(shared().port());
  Target target = through(proxy);
  target.answer_timeout = 2s;
  Connection connection(target);
  const auto fault = proxy.inject({.text = "ECHO", .then = TcpProxy::Then::kStall});
  EXPECT_EQ(error_from([&] {
              connection.ask({"ECHO", "x"}, Loss::kInDoubt);
            }).kind,
            ErrorKind::kInDoubt);
  EXPECT_EQ(proxy.fired(fault), 1U);
  EXPECT_FALSE(connection.whole()) << "the answer may still come";
}

TEST(RedisConnection, AServerThatIsTooOldOrTellsNoRunIsRefused) {
  for (const char* info : {"redis_version:7.0.0\r\n", "redis_version:5.0.14\r\nrun_id:life\r\n",
                           "run_id:life\r\n", "redis_version:7.0.0\r\nrun_id:\r\n"}) {
    PlayedServer server({PlayedServer::welcome(info)});
    const Error error = error_from([&] { Connection connection(server.target()); });
    EXPECT_EQ(error.code, "R258") << info << error.message;
    EXPECT_EQ(error.kind, ErrorKind::kRejected);
  }
}

TEST(RedisConnection, SharesItsTimeAmongTheAddressesThatAreLeft) {
  using Clock = Socket::Clock;
  const Clock::time_point now{1'000s};
  EXPECT_EQ(part_of(now, now + 9s, 3), now + 3s);
  EXPECT_EQ(part_of(now + 3s, now + 9s, 2), now + 6s);
  EXPECT_EQ(part_of(now + 6s, now + 9s, 1), now + 9s);
  EXPECT_EQ(part_of(now + 10s, now + 9s, 2), now + 9s) << "nothing is left";
}

// Each piece of the answer arrives in time, but the last one never does.
TEST(RedisConnection, ALoginThatDoesNotEndIsGivenUpAfterTheConnectTimeout) {
  PlayedServer server({PlayedServer::welcome(Bytes(100, ' '))}, 100ms);
  Target target = server.target();
  target.connect_timeout = 1s;
  const Error error = error_from([&] { Connection connection(target); });
  EXPECT_EQ(error.code, "R250") << error.message;
  EXPECT_TRUE(server.was_left_early());
}

// All lead to the same server, and each would be waited for in vain.
TEST(RedisPool, IdleConnectionsGoWithOneThatIsLost) {
  TcpProxy proxy(shared().port());
  Target target = through(proxy);
  target.answer_timeout = 1s;
  int connected = 0;
  Pool pool(
      [&] {
        ++connected;
        return std::make_unique<Connection>(target);
      },
      4);
  {
    PooledConnection first(pool);
    const PooledConnection second(pool), third(pool);
  }
  ASSERT_EQ(connected, 3);
  const auto fault = proxy.inject({.text = "ECHO", .then = TcpProxy::Then::kStall});
  const Error error = error_from([&] {
    PooledConnection(pool)->ask({"ECHO", "x"}, Loss::kNothingDone);
  });
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_EQ(proxy.fired(fault), 1U);
  EXPECT_TRUE(pool.lost());
  proxy.clear();
  EXPECT_EQ(PooledConnection(pool)->ask({"PING"}, Loss::kNothingDone).bytes, "PONG");
  EXPECT_EQ(connected, 4) << "none of the idle ones was lent";
  EXPECT_FALSE(pool.lost());
}

TEST(RedisPool, AConnectionThatTheServerEndedIsNotLentAgain) {
  RedisServer mine(RedisServer::fast());
  int connected = 0;
  Pool pool(
      [&] {
        ++connected;
        return std::make_unique<Connection>(target_of(mine.url()));
      },
      4);
  std::string life;
  { life = PooledConnection(pool)->run_id(); }
  { EXPECT_EQ(PooledConnection(pool)->run_id(), life); }
  EXPECT_EQ(connected, 1);
  mine.kill();
  EXPECT_EQ(error_from([&] { PooledConnection connection(pool); }).code, "R250");
  mine.start();
  PooledConnection again(pool);
  EXPECT_EQ(again->ask({"PING"}, Loss::kInDoubt).bytes, "PONG");
  EXPECT_NE(again->run_id(), life) << "another life of the server";
}

}  // namespace
}  // namespace semel::redis
