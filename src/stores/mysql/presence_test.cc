// Which instances count as gone, where what a dead process said is still being done.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "stores/mysql/presence.h"
#include "stores/mysql/schema.h"
#include "stores/mysql/url.h"
#include "tests/support/mysql_servers.h"

namespace semel::mysql {
namespace {

class MySqlPresence : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  MySqlPresence() {
    place_.target = target_of(server_.url(server_.new_database()));
    Wire wire(place_.target);
    make_schema(wire);
    survivor_ = process();
    looking_ = session();
  }
  std::unique_ptr<Presence> process() const {
    return std::make_unique<Presence>(place_, dialect_, std::chrono::milliseconds(0));
  }
  std::unique_ptr<Connection> session() const { return std::make_unique<Connection>(place_); }
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
  const Dialect dialect_{};
  Place place_;
  std::unique_ptr<Presence> survivor_;
  std::unique_ptr<Connection> looking_;
};

TEST_P(MySqlPresence, AnInstanceIsGoneWithTheLastOfItsSessions) {
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

TEST_P(MySqlPresence, ASessionThatWroteNothingHoldsNobody) {
  auto dying = process();
  const auto idle = session();
  const std::int64_t number = dying->number();
  EXPECT_FALSE(gone(number));
  dying.reset();
  EXPECT_TRUE(gone_soon(number));
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlPresence, testing::ValuesIn(test::shared_mysql_servers()),
                         [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

}  // namespace
}  // namespace semel::mysql
