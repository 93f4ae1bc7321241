// Tests against a Redis server with TLS, whose certificates are made here.
#include "tests/support/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <poll.h>

#include "clients/redis/connection.h"
#include "clients/redis/pool.h"
#include "clients/redis/test_client.h"
#include "tests/support/stopped_process.h"

namespace semel::redis {
namespace {

using test::RedisServer;
using test::TlsIdentity;

class RedisTls : public ::testing::Test {
 protected:
  RedisTls() {
    files_.add("host", TlsIdentity());
    files_.add("other", TlsIdentity("DNS:example.com"));
  }
  // With the certificate of that name.
  std::unique_ptr<RedisServer> server(const std::string& identity, bool asks_clients = false) {
    RedisServer::Options options = RedisServer::fast();
    test::add_tls(options.arguments,
                  {port_, files_.file(identity + ".pem"), files_.file(identity + ".key"),
                   files_.file("host.pem"), asks_clients});
    return std::make_unique<RedisServer>(std::move(options));
  }
  std::string url(const std::string& options) const {
    return fmt::format("rediss://127.0.0.1:{}?{}", port_, options);
  }
  Target target(const std::string& options) const { return target_of(url(options)); }
  // The error of a connection that is refused.
  Error refused(const std::string& options) const {
    return error_from([&] { Connection connection(target(options)); });
  }
  std::string trusted(const std::string& name = "host") const {
    return "tls-ca=" + files_.file(name + ".pem");
  }

  const test::TlsFiles files_;
  const int port_ = test::free_port();
};

TEST_F(RedisTls, AServerWhoseCertificateNamesItIsSpokenTo) {
  const auto redis = server("host");
  Connection connection(target(trusted()));
  // Larger than a record of TLS, and than the socket's buffers.
  const Bytes large(3 << 20, 'r');
  connection.ask({"SET", "k", large}, Loss::kInDoubt);
  EXPECT_TRUE(connection.ask({"GET", "k"}, Loss::kNothingDone).bytes == large);
}

TEST_F(RedisTls, ConnectionsAreKeptAndUsedAgain) {
  const auto redis = server("host");
  Pool pool([&] { return std::make_unique<Connection>(target(trusted())); }, 1);
  const auto connected = [&] {
    const std::string info = redis->query("INFO stats");
    return std::stoi(info_field(info, "total_connections_received"));
  };
  const int before = connected();
  for (int i = 0; i < 20; ++i) PooledConnection(pool)->ask({"INCR", "k"}, Loss::kInDoubt);
  EXPECT_EQ(connected(), before + 2) << "the one that asks for INFO, and one of the pool";
}

TEST_F(RedisTls, ManyAnswersAtOnceAreAllRead) {
  const auto redis = server("host");
  Connection connection(target(trusted()));
  const std::string large(100'000, 'x');
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) connection.send({"ECHO", large});
  const auto replies = connection.run(Loss::kNothingDone);
  ASSERT_EQ(replies.size(), std::size_t{kTimes});
  for (const Reply& reply : replies) EXPECT_EQ(reply.bytes.size(), large.size());
  EXPECT_TRUE(connection.whole());
}

TEST_F(RedisTls, ACallerThatPollsByItselfSendsAndReadsAll) {
  const auto redis = server("host");
  Connection connection(target(trusted()));
  // More than the sockets' buffers have room for.
  const std::string large(1 << 20, 'x');
  constexpr std::size_t kTimes = 30;
  for (std::size_t i = 0; i < kTimes; ++i) connection.send({"ECHO", large});
  {
    // A server that reads meanwhile would have room for more.
    const test::StoppedProcess stopped(redis->pid());
    connection.begin();
    EXPECT_TRUE(connection.has_unsent());
  }
  std::size_t read = 0;
  while (read < kTimes) {
    pollfd watched{connection.descriptor(), POLLIN, 0};
    if (connection.has_unsent()) watched.events |= POLLOUT;
    ASSERT_EQ(::poll(&watched, 1, 20'000), 1) << "nothing more is sent or read";
    for (const Reply& reply : connection.take_some(Loss::kNothingDone)) {
      EXPECT_EQ(reply.bytes.size(), large.size());
      ++read;
    }
  }
  EXPECT_FALSE(connection.has_unsent());
  EXPECT_TRUE(connection.sound());
}

TEST_F(RedisTls, AnothersCertificateIsRefused) {
  const auto redis = server("other");
  const Error wrong_name = refused(trusted("other"));
  EXPECT_EQ(wrong_name.code, "R250");
  EXPECT_NE(wrong_name.message.find("mismatch"), std::string::npos) << wrong_name.message;
  const Error untrusted = refused(trusted("host"));
  EXPECT_NE(untrusted.message.find("certificate"), std::string::npos) << untrusted.message;
  EXPECT_EQ(refused("").code, "R250") << "the system does not trust it either";
  EXPECT_TRUE(Connection(target("tls=on")).whole()) << "not verified";
}

TEST_F(RedisTls, AServerMayAskForACertificate) {
  const auto redis = server("host", true);
  EXPECT_EQ(refused(trusted()).code, "R250");
  Connection known(target(trusted() + "&tls-cert=" + files_.file("host.pem") +
                          "&tls-key=" + files_.file("host.key")));
  EXPECT_EQ(known.ask({"PING"}, Loss::kNothingDone).bytes, "PONG");
}

TEST_F(RedisTls, FilesThatCannotBeReadAreForAPersonToMend) {
  const auto redis = server("host");
  files_.write("nonsense.pem", "nonsense");
  for (const std::string& options :
       {std::string("tls-ca=/nowhere.pem"), trusted("nonsense"), trusted() + "&tls-cert=/nowhere",
        trusted() + "&tls-cert=" + files_.file("host.pem") + "&tls-key=/nowhere"}) {
    const Error error = refused(options);
    EXPECT_EQ(error.code, "R259") << options << ": " << error.message;
    EXPECT_EQ(error.kind, ErrorKind::kRejected);
  }
}

TEST_F(RedisTls, AServerWithoutTlsIsNotSpokenToInTheClear) {
  const RedisServer plain(RedisServer::fast());
  const Error error = error_from([&] {
    Connection connection(
        target_of(fmt::format("rediss://127.0.0.1:{}?connect-timeout=2", plain.port())));
  });
  EXPECT_EQ(error.code, "R250") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
}

TEST_F(RedisTls, AnErrorOfSomebodyElsesIsNotTakenForOneOfTheConnection) {
  const auto redis = server("host");
  const auto fail = [] { ERR_raise(ERR_LIB_USER, ERR_R_PASSED_NULL_PARAMETER); };
  fail();
  Connection connection(target(trusted()));
  fail();
  connection.send({"PING"});
  connection.begin();
  fail();
  EXPECT_EQ(connection.run(Loss::kNothingDone).front().bytes, "PONG");
  EXPECT_TRUE(connection.whole());
}

TEST_F(RedisTls, AConnectionThatTheServerEndsIsNotUsedAgain) {
  const auto redis = server("host");
  Pool pool([&] { return std::make_unique<Connection>(target(trusted())); }, 1);
  const auto ping = [&] { return PooledConnection(pool)->ask({"PING"}, Loss::kInDoubt).bytes; };
  EXPECT_EQ(ping(), "PONG");
  redis->query("CLIENT KILL TYPE normal");
  EXPECT_EQ(ping(), "PONG");
  redis->kill();
  const Error error = error_from([&] { ping(); });
  EXPECT_EQ(error.code, "R250") << error.message;
  redis->start();
  EXPECT_EQ(ping(), "PONG");
}

}  // namespace
}  // namespace semel::redis
