// Opening a connection: refusals of a server or a pooler, timeouts, and the settings of a session.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

#include "stores/postgres/connection.h"
#include "stores/postgres/store.h"
#include "stores/postgres/test_fake_server.h"
#include "system/descriptor.h"
#include "system/event_fd.h"
#include "tests/support/postgres_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::postgres {
namespace {

using namespace std::chrono_literals;
using test::PostgresServer;
using test::TcpProxy;

struct ClosesConnection {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
using TestedConnection = std::unique_ptr<PGconn, ClosesConnection>;

TestedConnection connected(const std::string& url) {
  return TestedConnection(connect({url, "semel"}));
}

Error connect_error(const Endpoint& endpoint) {
  try {
    const TestedConnection connection(connect(endpoint));
  } catch (const sql::Failure& failed) {
    return failed.error();
  }
  ADD_FAILURE() << "it connected";
  return {};
}
Error connect_error(const std::string& url) { return connect_error(Endpoint{url, "semel"}); }

std::string answer(PGconn* connection, const std::string& sql) {
  return PQgetvalue(execute(connection, sql).get(), 0, 0);
}

std::string through(const TcpProxy& proxy, std::string_view words) {
  return fmt::format("postgresql://postgres@127.0.0.1:{}/postgres?{}", proxy.port(), words);
}

// The proxy sends nothing after `text`, on any connection.
TcpProxy::FaultId silence(TcpProxy& proxy, const std::string& text) {
  return proxy.inject({.text = text, .then = TcpProxy::Then::kStall, .times = 1'000});
}

// Before the first statement of a session.
constexpr const char* kSetUp = "SET lock_timeout";

TEST(PostgresConnect, ARefusalIsKnownByItsStateInEveryLanguage) {
  const struct {
    const char* state;
    const char* words;
    const char* code;
  } kRefusals[] = {
      {"28P01", "Passwort-Authentifizierung für Benutzer »ann« fehlgeschlagen", "R251"},
      {"28000", "Rolle »ann« existiert nicht", "R251"},
      {"3D000", "Datenbank »bank« existiert nicht", "R252"},
      {"53300", "Verbindungslimit für Rolle »ann« überschritten", "R254"},
      {"57P03", "das Datenbanksystem startet", "R250"},
      {"42501", "keine Berechtigung für Datenbank »bank«", "R253"},
  };
  for (const auto& refusal : kRefusals) {
    const FakeServer server({FakeServer::error("FATAL", refusal.state, refusal.words), {}});
    const Error error = connect_error(server.url());
    EXPECT_EQ(error.code, refusal.code) << error.message;
    EXPECT_NE(error.message.find(fmt::format("{} {}", refusal.state, refusal.words)),
              std::string::npos)
        << error.message;
    EXPECT_EQ(error.message.find("auth.c"), std::string::npos) << error.message;
  }
}

TEST(PostgresConnect, AServersOwnRefusalsAreKnown) {
  // Where the language is installed.
  ::setenv("LANGUAGE", "de", 1);
  PostgresServer::Options options = PostgresServer::fast();
  options.settings.emplace_back("lc_messages=C.UTF-8");
  const PostgresServer server(options);
  ::unsetenv("LANGUAGE");
  server.query("postgres", "CREATE USER ann PASSWORD 'right' CONNECTION LIMIT 0");
  const std::string file = server.query("postgres", "SHOW hba_file");
  server.query("postgres", fmt::format("COPY (SELECT unnest(ARRAY["
                                       "'host all ann 127.0.0.1/32 scram-sha-256', "
                                       "'host all all 127.0.0.1/32 trust', "
                                       "'local all all trust'])) TO '{}'",
                                       file));
  server.query("postgres", "SELECT pg_reload_conf()");
  const auto url = [&](const char* user, const char* database) {
    return fmt::format("postgresql://{}@127.0.0.1:{}/{}", user, server.port(), database);
  };
  EXPECT_EQ(connect_error(url("ann:wrong", "postgres")).code, "R251");
  EXPECT_EQ(connect_error(url("ann", "postgres")).code, "R251") << "no password";
  EXPECT_EQ(connect_error(url("nobody", "postgres")).code, "R251");
  EXPECT_EQ(connect_error(url("postgres", "nowhere")).code, "R252");
  const Error full = connect_error(url("ann:right", "postgres"));
  EXPECT_EQ(full.code, "R254") << full.message;
  EXPECT_NE(full.message.find("53300"), std::string::npos) << full.message;
}

TEST(PostgresConnect, WhatAPoolerRefusesOfTheAddressIsNamed) {
  const FakeServer pooler(
      {FakeServer::error("FATAL", "08P01", "unsupported startup parameter: options"), {}});
  const Error error = connect_error(pooler.url() + "&options=-csearch_path%3Dpublic");
  EXPECT_EQ(error.code, "R257") << error.message;
  EXPECT_NE(error.hint.find("ignore_startup_parameters"), std::string::npos) << error.hint;
  EXPECT_EQ(connect_error(pooler.url()).code, "R250") << "no options were asked for";
}

TEST(PostgresConnect, APoolerWithoutTransactionsIsRefused) {
  const FakeServer pooler({FakeServer::welcome(7), [](std::string_view query) {
                             if (query.starts_with("SELECT pg_backend_pid")) {
                               return FakeServer::row("8") + FakeServer::done() +
                                      FakeServer::ready();
                             }
                             if (query.starts_with("BEGIN")) {
                               return FakeServer::error("FATAL", "08P01",
                                                        "transaction blocks not allowed in "
                                                        "statement pooling mode") +
                                      FakeServer::ready();
                             }
                             return FakeServer::done() + FakeServer::ready();
                           }});
  PostgresOptions options;
  options.url = pooler.url();
  const auto store = open_postgres(options);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, "R257") << store.error().message;
}

TEST(PostgresConnect, APoolerThatGivesNoSessionIsAnErrorInTime) {
  TcpProxy proxy(PostgresServer::shared().port());
  const auto silent = silence(proxy, kSetUp);
  const Error error = connect_error(through(proxy, "connect_timeout=1"));
  EXPECT_EQ(error.code, "R254") << error.message;
  EXPECT_EQ(proxy.fired(silent), 1U);
}

TEST(PostgresConnect, AServerThatSaysNothingIsAnErrorInTime) {
  TcpProxy proxy(PostgresServer::shared().port());
  const auto silent = proxy.inject({.bytes = 1, .then = TcpProxy::Then::kStall, .times = 9});
  const Error error = connect_error(through(proxy, "connect_timeout=1"));
  EXPECT_EQ(error.code, "R250") << error.message;
  EXPECT_EQ(proxy.fired(silent), 1U);
}

// A port of 127.0.0.1 that drops connections: its queue is full.
class FullPort {
 public:
  FullPort() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
    for (int i = 0; i < 4; ++i) {
      system::Descriptor& client =
          queued_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      EXPECT_TRUE(::connect(client.get(), any, size) == 0 || errno == EINPROGRESS);
    }
  }
  int port() const { return port_; }

 private:
  system::Descriptor listener_;
  std::vector<system::Descriptor> queued_;
  int port_ = 0;
};

// As with PQconnectdb.
TEST(PostgresConnect, BehindAnAddressThatSaysNothingTheNextIsTried) {
  const FullPort full;
  const auto connection =
      connected(fmt::format("host=127.0.0.1,127.0.0.1 port={},{} user=postgres dbname=postgres "
                            "connect_timeout=1",
                            full.port(), PostgresServer::shared().port()));
  EXPECT_EQ(answer(connection.get(), "SELECT 1"), "1");
  // One that accepts, and stays silent.
  const FakeServer frozen({{}, {}});
  const auto behind =
      connected(fmt::format("host=127.0.0.1,127.0.0.1 port={},{} user=postgres dbname=postgres "
                            "connect_timeout=1",
                            frozen.port(), PostgresServer::shared().port()));
  EXPECT_EQ(answer(behind.get(), "SELECT 1"), "1");
  const Error error = connect_error(
      fmt::format("host=127.0.0.1 port={} dbname=postgres connect_timeout=1", full.port()));
  EXPECT_EQ(error.code, "R250") << error.message;
}

// A former primary that stays up accepts connections, and comes first in the address.
TEST(PostgresConnect, BehindAServerThatOnlyReadsTheNextIsTried) {
  PostgresServer::Options options = PostgresServer::fast();
  options.settings.emplace_back("default_transaction_read_only=on");
  const PostgresServer reader(options);
  const int writer = PostgresServer::shared().port();
  const FullPort full;
  const auto port_used = [](std::initializer_list<int> ports, std::string_view words = "") {
    std::string hosts, list;
    for (const int port : ports) {
      hosts += hosts.empty() ? "127.0.0.1" : ",127.0.0.1";
      list += fmt::format("{}{}", list.empty() ? "" : ",", port);
    }
    const auto connection = connected(fmt::format(
        "host={} port={} user=postgres dbname=postgres connect_timeout=1 {}", hosts, list, words));
    return std::stoi(PQport(connection.get()));
  };
  EXPECT_EQ(port_used({reader.port(), writer}), writer);
  EXPECT_EQ(port_used({reader.port(), full.port(), writer}), writer);
  EXPECT_EQ(port_used({writer, reader.port()}), writer);
  // Looks need no more.
  EXPECT_EQ(port_used({reader.port()}), reader.port());
  EXPECT_EQ(port_used({reader.port(), reader.port()}), reader.port());
  EXPECT_EQ(port_used({reader.port(), full.port()}), reader.port());
  EXPECT_EQ(port_used({writer, reader.port()}, "target_session_attrs=read-only"), reader.port());
}

TEST(PostgresConnect, AStopEndsWhateverItWaitsFor) {
  for (const bool greets : {true, false}) {
    SCOPED_TRACE(greets);
    TcpProxy proxy(PostgresServer::shared().port());
    const auto silent =
        greets ? silence(proxy, kSetUp)
               : proxy.inject({.bytes = 1, .then = TcpProxy::Then::kStall, .times = 9});
    system::EventFd stop;
    Endpoint endpoint{through(proxy, "connect_timeout=3000"), "semel"};
    endpoint.stops[0] = stop.get();
    auto connecting = std::async(std::launch::async, [&] { return connect_error(endpoint); });
    ASSERT_TRUE(proxy.wait_fired(silent));
    stop.signal();
    ASSERT_EQ(connecting.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(connecting.get().kind, ErrorKind::kUnavailable);
  }
}

TEST(PostgresConnect, TextIsUtf8WhateverIsSet) {
  const PostgresServer& server = PostgresServer::shared();
  const std::string database = server.new_database();
  server.query("postgres",
               fmt::format("ALTER DATABASE {} SET client_encoding = 'LATIN1'", database));
  ::setenv("PGCLIENTENCODING", "LATIN1", 1);
  for (const char* said :
       {"", "?client_encoding=LATIN1", "?options=-c%20client_encoding%3DLATIN1"}) {
    const auto connection = connected(server.url(database) + said);
    EXPECT_EQ(answer(connection.get(), "SHOW client_encoding"), "UTF8") << said;
    EXPECT_EQ(answer(connection.get(), "SELECT length('é')"), "1") << said;
  }
  ::unsetenv("PGCLIENTENCODING");
}

TEST(PostgresConnect, TextIsRightInADatabaseOfAnotherEncoding) {
  const PostgresServer& server = PostgresServer::shared();
  const std::string database = server.new_database() + "_latin1";
  server.query("postgres", fmt::format("CREATE DATABASE {} ENCODING 'LATIN1' TEMPLATE template0 "
                                       "LC_COLLATE 'C' LC_CTYPE 'C'",
                                       database));
  {
    const auto connection = connected(server.url(database));
    EXPECT_EQ(answer(connection.get(), "SELECT encode(convert_to('é', 'LATIN1'), 'hex')"), "e9");
    EXPECT_EQ(answer(connection.get(), "SELECT ascii('é')"), "233");
  }
  server.query("postgres", fmt::format("DROP DATABASE {} WITH (FORCE)", database));
}

TEST(PostgresConnect, ASessionMayBeIdle) {
  PostgresServer::Options options = PostgresServer::fast();
  options.settings.emplace_back("idle_session_timeout=5min");
  const PostgresServer server(options);
  const auto connection = connected(server.url("postgres"));
  EXPECT_EQ(answer(connection.get(), "SHOW idle_session_timeout"), "0");
}

}  // namespace
}  // namespace semel::postgres
