// A run hears of those that died, even where the answer of the server is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include <semel/postgres.h>
#include <semel/spi/run_markers.h>

#include "tests/support/postgres_server.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::PostgresServer;
using test::TcpProxy;

constexpr std::size_t kWindow = 900;

std::unique_ptr<Store> open_at(const std::string& url) {
  PostgresOptions options;
  options.url = url;
  return open_postgres(options).value();
}

class PostgresRunMarkers : public testing::Test {
 protected:
  static ConsumerNumber attach(Store& store) {
    return store.attach({"payments", "recipe", false, {}}).value();
  }
  static RunMarkers& runs(Store& store) { return *store.facets().runs; }
  std::unique_ptr<Store> open_through(const TcpProxy& proxy) const {
    return open_at(fmt::format("postgresql://postgres@127.0.0.1:{}/{}", proxy.port(), database_));
  }
  // A process that was in the midst of its work. Another one has found it dead.
  void leave_a_death(Store& finds) const {
    auto dies = open_at(server_.url(database_));
    ASSERT_TRUE(runs(*dies).begin(attach(*dies), kWindow).has_value());
    dies.reset();
    ASSERT_TRUE(test::comes_true([&] { return runs(finds).sweep().value(); }));
  }
  // The server commits, and the process never hears of it.
  void begin_without_an_answer(Store& store, TcpProxy& proxy) const {
    const ConsumerNumber consumer = attach(store);
    // The process is registered by what it runs already.
    const auto another = store.attach({"refunds", "recipe", false, {}}).value();
    ASSERT_TRUE(runs(store).begin(another, 1).has_value());
    const auto lost = proxy.inject(
        {.heard = TcpProxy::Side::kServer, .text = "COMMIT", .then = TcpProxy::Then::kLose});
    const auto begun = runs(store).begin(consumer, 1);
    ASSERT_FALSE(begun.has_value());
    EXPECT_EQ(begun.error().kind, ErrorKind::kInDoubt) << begun.error().message;
    ASSERT_EQ(proxy.fired(lost), 1U);
  }
  static void hear_of_the_death(Store& store, ConsumerNumber consumer) {
    const auto begun = runs(store).begin(consumer, 1);
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    EXPECT_TRUE(begun->unclean);
    EXPECT_EQ(begun->window, kWindow);
  }

  const PostgresServer& server_ = PostgresServer::shared();
  const std::string database_ = server_.new_database();
};

TEST_F(PostgresRunMarkers, ADeathWhoseTellingWasLostIsToldAgain) {
  TcpProxy proxy(server_.port());
  const auto store = open_through(proxy);
  const ConsumerNumber consumer = attach(*store);
  ASSERT_NO_FATAL_FAILURE(leave_a_death(*store));
  ASSERT_NO_FATAL_FAILURE(begin_without_an_answer(*store, proxy));
  ASSERT_NO_FATAL_FAILURE(hear_of_the_death(*store, consumer));
  ASSERT_TRUE(runs(*store).end(consumer).has_value());
  EXPECT_FALSE(runs(*store).begin(consumer, 1).value().unclean) << "told, and ended cleanly";
}

// The engine before this one, in the same process, has left its mark.
TEST_F(PostgresRunMarkers, SoItIsWhereTheProcessHasAMarkAlready) {
  TcpProxy proxy(server_.port());
  const auto store = open_through(proxy);
  const ConsumerNumber consumer = attach(*store);
  ASSERT_FALSE(runs(*store).begin(consumer, 1).value().unclean);
  ASSERT_NO_FATAL_FAILURE(leave_a_death(*store));
  ASSERT_NO_FATAL_FAILURE(begin_without_an_answer(*store, proxy));
  ASSERT_NO_FATAL_FAILURE(hear_of_the_death(*store, consumer));
  EXPECT_FALSE(runs(*store).begin(consumer, 1).value().unclean) << "told once";
}

TEST_F(PostgresRunMarkers, WhatNobodyHeardIsToldToTheNextProcess) {
  TcpProxy proxy(server_.port());
  auto store = open_through(proxy);
  ASSERT_NO_FATAL_FAILURE(leave_a_death(*store));
  ASSERT_NO_FATAL_FAILURE(begin_without_an_answer(*store, proxy));
  store.reset();
  const auto next = open_at(server_.url(database_));
  const ConsumerNumber consumer = attach(*next);
  bool unclean = false;
  std::size_t window = 0;
  ASSERT_TRUE(test::comes_true([&] {
    const auto begun = runs(*next).begin(consumer, 1).value();
    unclean = unclean || begun.unclean;
    window = std::max(window, begun.window);
    return unclean;
  }));
  EXPECT_EQ(window, kWindow);
}

}  // namespace
}  // namespace semel::postgres
