// A server, or a pooler before it, that gives fewer sessions than a store wants.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/spi/run_markers.h>

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "stores/postgres/store.h"
#include "tests/support/builders.h"
#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::postgres {
namespace {

using namespace std::chrono_literals;
using test::PostgresServer;
using test::TcpProxy;

class PostgresShortage : public testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& url) {
    PostgresOptions options;
    options.url = url;
    options.busy = 1s;
    auto store = open_postgres(std::move(options));
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  // Holds a session for as long as it lives.
  static Result<std::unique_ptr<UnitOfWork>> unit(Store& store) {
    return store.facets().transactional->begin({});
  }

  const PostgresServer& server_ = PostgresServer::shared();
  const test::PooledDatabase database_{server_};
};

TEST_F(PostgresShortage, IsToldWithItsNumbers) {
  const std::string database = server_.new_database();
  const std::string user = database + "_few";
  ASSERT_NE(open(server_.url(database)), nullptr);
  server_.query(database, fmt::format("CREATE USER {0} CONNECTION LIMIT 3; GRANT USAGE ON SCHEMA "
                                      "semel TO {0}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL "
                                      "TABLES IN SCHEMA semel TO {0}; GRANT USAGE ON ALL SEQUENCES "
                                      "IN SCHEMA semel TO {0}",
                                      user));
  {
    PostgresOptions options;
    options.url = fmt::format("postgresql://{}@127.0.0.1:{}/{}", user, server_.port(), database);
    options.create = false;
    options.busy = 1s;
    auto store = open_postgres(std::move(options)).value();
    // One more session is the presence's.
    std::vector<std::unique_ptr<UnitOfWork>> units;
    Error error;
    while (units.size() < 9) {
      auto next = unit(*store);
      if (!next) error = next.error();
      if (!next) break;
      units.push_back(*std::move(next));
    }
    EXPECT_LE(units.size(), 3U);
    EXPECT_EQ(error.code, "R254") << error.message;
    EXPECT_NE(error.message.find("of the 9"), std::string::npos) << error.message;
    // The pool uses the sessions it has: the next caller waits.
    auto waiting = std::async(std::launch::async, [&] { return unit(*store).has_value(); });
    units.pop_back();
    EXPECT_TRUE(waiting.get());
  }
  server_.query(database, fmt::format("DROP OWNED BY {0}; DROP USER {0}", user));
}

TEST_F(PostgresShortage, HangsNobody) {
  TcpProxy proxy(server_.port());
  const auto store = open(fmt::format("postgresql://postgres@127.0.0.1:{}/{}?connect_timeout=1",
                                      proxy.port(), database_.name()));
  ASSERT_NE(store, nullptr);
  const ConsumerNumber consumer = store->attach({"payments", "recipe", false, {}}).value();
  // A pooler that lost its server accepts clients, and has a session for none.
  const auto silent =
      proxy.inject({.text = "SET lock_timeout", .then = TcpProxy::Then::kStall, .times = 1'000});
  proxy.cut_all();
  std::vector<std::future<Error>> claims;
  for (int i = 0; i < 4; ++i) {
    claims.push_back(std::async(std::launch::async, [&, i] {
      const Message message = test::make_message(consumer, fmt::format("k{}", i));
      const Message* const one = &message;
      for (;;) {
        auto claimed = store->claim({&one, 1}, {});
        // The pool first notices that its open sessions are cut.
        if (!claimed && claimed.error().code == "R254") return claimed.error();
      }
    }));
  }
  for (auto& one : claims) {
    ASSERT_EQ(one.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(one.get().code, "R254");
  }
  EXPECT_GE(proxy.fired(silent), 1U);
  proxy.clear();
  // The sessions are available again.
  const Message message = test::make_message(consumer, "later");
  const Message* const one = &message;
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!store->claim({&one, 1}, {}) && std::chrono::steady_clock::now() < end) continue;
  EXPECT_LT(std::chrono::steady_clock::now(), end);
}

// The thread that listens for new rows connects in the background.
TEST_F(PostgresShortage, AStoreClosesWhileItWaitsForASession) {
  TcpProxy proxy(server_.port());
  auto store = open(fmt::format("postgresql://postgres@127.0.0.1:{}/{}?connect_timeout=3000",
                                proxy.port(), database_.name()));
  ASSERT_NE(store, nullptr);
  store->facets().runs->sweep().value();
  const auto silent =
      proxy.inject({.text = "SET lock_timeout", .then = TcpProxy::Then::kStall, .times = 1'000});
  proxy.cut_all();
  ASSERT_TRUE(proxy.wait_fired(silent));
  auto closing = std::async(std::launch::async, [&] { store.reset(); });
  EXPECT_EQ(closing.wait_for(60s), std::future_status::ready);
}

}  // namespace
}  // namespace semel::postgres
