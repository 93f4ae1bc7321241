// Which instances count as gone, where what a dead process said is still being done.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <memory>

#include "stores/postgres/presence.h"
#include "stores/postgres/schema.h"
#include "tests/support/postgres_server.h"

namespace semel::postgres {
namespace {

using test::PostgresServer;

class PresenceTest : public testing::Test {
 protected:
  PresenceTest() {
    PGconn* const connection = connect(place_);
    make_schema(connection, place_.schema);
    PQfinish(connection);
  }
  std::unique_ptr<Presence> process() const {
    return std::make_unique<Presence>(place_, dialect_,
                                      PresenceOptions{false, std::chrono::milliseconds(0)});
  }
  std::unique_ptr<Connection> session() const {
    return std::make_unique<Connection>(place_, dialect_, texts_);
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

  const Place place_{PostgresServer::shared().url(PostgresServer::shared().new_database()),
                     "semel"};
  const Dialect dialect_{place_.schema};
  const SessionTexts texts_{dialect_, place_.clock};
  const std::unique_ptr<Presence> survivor_ = process();
  const std::unique_ptr<Connection> looking_ = session();
};

TEST_F(PresenceTest, AnInstanceIsGoneWithTheLastOfItsSessions) {
  auto dying = process();
  auto first = session();
  auto second = session();
  const std::int64_t number = dying->number_for(*first);
  EXPECT_EQ(dying->number_for(*first), number) << "said once for each session";
  EXPECT_EQ(dying->number_for(*second), number);
  EXPECT_FALSE(gone(number));
  dying.reset();
  first.reset();
  // Time enough for the server to notice both.
  auto other = process();
  const std::int64_t another = other->number();
  other.reset();
  ASSERT_TRUE(gone_soon(another));
  EXPECT_FALSE(gone(number)) << "what its session is about to commit would be freed by nobody";
  second.reset();
  EXPECT_TRUE(gone_soon(number));
}

TEST_F(PresenceTest, ASessionThatWroteNothingHoldsNobody) {
  auto dying = process();
  const auto idle = session();
  const std::int64_t number = dying->number();
  EXPECT_FALSE(gone(number));
  dying.reset();
  EXPECT_TRUE(gone_soon(number));
}

}  // namespace
}  // namespace semel::postgres
