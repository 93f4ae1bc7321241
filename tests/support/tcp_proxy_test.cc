// Network faults fire where they are set, and nowhere else.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "tests/support/postgres_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using namespace std::chrono_literals;
using Side = TcpProxy::Side;
using Then = TcpProxy::Then;

constexpr int kHearingPatience = 20'000;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  static Socket connect(int port) {
    Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = loopback(port);
    if (::connect(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      made.fd_.close();
    }
    return made;
  }
  bool connected() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  void say(std::string_view bytes) const {
    ASSERT_EQ(::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The next `count` bytes; if fewer, also how the stream ended: "(end)", "(reset)", "(silence)".
  std::string hear(std::size_t count, int patience = kHearingPatience) const {
    std::string heard;
    while (heard.size() < count) {
      pollfd readable{fd(), POLLIN, 0};
      if (::poll(&readable, 1, patience) != 1) return heard + "(silence)";
      char byte = 0;
      const ssize_t got = ::recv(fd(), &byte, 1, 0);
      if (got <= 0) return heard + (got == 0 ? "(end)" : "(reset)");
      heard += byte;
    }
    return heard;
  }

 private:
  system::Descriptor fd_;
};

// A server that the test plays itself.
class TcpProxyTest : public testing::Test {
 protected:
  Socket accept() const { return Socket(::accept(listener_.fd.get(), nullptr, nullptr)); }

  OwnListener listener_ = own_listener();
  TcpProxy proxy_{listener_.port};
};

TEST_F(TcpProxyTest, ForwardsUntilEachSideHasEnded) {
  const Socket client = Socket::connect(proxy_.port());
  const Socket server = accept();
  client.say("ask");
  ::shutdown(client.fd(), SHUT_WR);
  EXPECT_EQ(server.hear(4), "ask(end)");
  server.say("answer");
  ::shutdown(server.fd(), SHUT_WR);
  EXPECT_EQ(client.hear(7), "answer(end)");
  EXPECT_EQ(proxy_.connections(), 1U);
}

TEST_F(TcpProxyTest, CutsAfterSoManyBytes) {
  const auto fault = proxy_.inject({.bytes = 5, .then = Then::kCut});
  const Socket client = Socket::connect(proxy_.port());
  const Socket server = accept();
  client.say("123");
  EXPECT_EQ(server.hear(3), "123");
  EXPECT_EQ(proxy_.fired(fault), 0U);
  client.say("4567");
  EXPECT_EQ(server.hear(4), "45(end)");
  EXPECT_EQ(client.hear(1), "(reset)");
  EXPECT_EQ(proxy_.fired(fault), 1U);

  const Socket next = Socket::connect(proxy_.port());
  const Socket same = accept();
  next.say("1234567");
  EXPECT_EQ(same.hear(7), "1234567") << "it was to fire once";
}

TEST_F(TcpProxyTest, FindsATextInPiecesAndLosesIt) {
  const auto fault =
      proxy_.inject({.text = "COMMIT", .then = Then::kLose, .reset = false, .times = 2});
  for (const std::string first : {"", "COM"}) {
    const Socket client = Socket::connect(proxy_.port());
    const Socket server = accept();
    client.say("before " + first);
    EXPECT_EQ(server.hear(7 + first.size()), "before " + first);
    client.say(std::string("COMMIT").substr(first.size()) + "after");
    EXPECT_EQ(server.hear(1), "(end)");
    EXPECT_EQ(client.hear(1), "(end)");
  }
  EXPECT_EQ(proxy_.fired(fault), 2U);
}

TEST_F(TcpProxyTest, WithholdsTheAnswerThatItWaitsFor) {
  const auto fault = proxy_.inject({.text = "COMMIT", .then = Then::kWithhold, .answer = "done"});
  const Socket client = Socket::connect(proxy_.port());
  const Socket server = accept();
  server.say("hello");
  EXPECT_EQ(client.hear(5), "hello");
  client.say("COMMIT");
  EXPECT_EQ(server.hear(6), "COMMIT");
  server.say("of another: ");
  client.say("more");
  EXPECT_EQ(server.hear(4), "more");
  EXPECT_EQ(client.hear(1, 50), "(silence)");
  server.say("done");
  EXPECT_EQ(client.hear(1), "(reset)");
  EXPECT_EQ(proxy_.fired(fault), 1U);
}

TEST_F(TcpProxyTest, LosesWhatTheServerSays) {
  proxy_.inject({.heard = Side::kServer, .text = "done", .then = Then::kLose});
  const Socket client = Socket::connect(proxy_.port());
  const Socket server = accept();
  server.say("half done");
  EXPECT_EQ(client.hear(6), "half (reset)");
  EXPECT_EQ(server.hear(1), "(end)");
}

TEST_F(TcpProxyTest, StallsUntilCleared) {
  const auto fault = proxy_.inject({.bytes = 2, .then = Then::kStall});
  const Socket client = Socket::connect(proxy_.port());
  const Socket server = accept();
  client.say("1234");
  EXPECT_EQ(server.hear(2), "12");
  ASSERT_TRUE(proxy_.wait_fired(fault));
  server.say("answer");
  client.say("56");
  EXPECT_EQ(server.hear(1, 50), "(silence)");
  EXPECT_EQ(client.hear(1, 50), "(silence)");
  proxy_.clear();
  EXPECT_EQ(server.hear(4), "3456");
  EXPECT_EQ(client.hear(6), "answer");
}

TEST_F(TcpProxyTest, DelaysRefusesAndCutsAll) {
  const Socket client = Socket::connect(proxy_.port());
  const Socket server = accept();
  proxy_.delay(100ms);
  const auto begun = std::chrono::steady_clock::now();
  client.say("late");
  EXPECT_EQ(server.hear(4), "late");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 100ms);

  proxy_.refuse(true);
  // The listener is gone when its thread has let go of it.
  while (Socket::connect(proxy_.port()).connected()) std::this_thread::yield();
  proxy_.refuse(false);
  const Socket again = Socket::connect(proxy_.port());
  EXPECT_TRUE(again.connected());
  const Socket served = accept();
  proxy_.cut_all();
  EXPECT_EQ(client.hear(1), "(reset)");
  EXPECT_EQ(again.hear(1), "(reset)");
}

TEST_F(TcpProxyTest, ResetsWhoeverFindsNoServer) {
  TcpProxy proxy(free_port());
  const Socket client = Socket::connect(proxy.port());
  EXPECT_EQ(client.hear(1), "(reset)");
  EXPECT_EQ(proxy.refusals(), 1U);
}

// The purpose of the proxy: the client cannot tell whether this transaction was committed.
TEST(TcpProxyPostgresTest, CommitsAndTellsNobody) {
  const auto& server = PostgresServer::shared();
  const std::string database = server.new_database();
  server.query(database, "CREATE TABLE t (a int)");
  TcpProxy proxy(server.socket_dir() + "/.s.PGSQL." + std::to_string(server.port()));
  const auto fault = proxy.inject({.text = "COMMIT", .then = Then::kWithhold});
  const std::string place =
      "host=127.0.0.1 user=postgres port=" + std::to_string(proxy.port()) + " dbname=" + database;
  PGconn* connection = PQconnectdb(place.c_str());
  ASSERT_EQ(PQstatus(connection), CONNECTION_OK) << PQerrorMessage(connection);
  PQclear(PQexec(connection, "BEGIN"));
  PQclear(PQexec(connection, "INSERT INTO t VALUES (1)"));
  PGresult* told = PQexec(connection, "COMMIT");
  EXPECT_EQ(PQresultStatus(told), PGRES_FATAL_ERROR);
  EXPECT_EQ(PQstatus(connection), CONNECTION_BAD);
  PQclear(told);
  PQfinish(connection);
  EXPECT_EQ(proxy.fired(fault), 1U);
  EXPECT_EQ(server.query(database, "SELECT a FROM t"), "1");
}

}  // namespace
}  // namespace semel::test
