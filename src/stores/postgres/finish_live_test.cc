// The end of the second phase: completions that change nothing else.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "stores/postgres/test_live_place.h"
#include "tests/support/tcp_proxy.h"

namespace semel::postgres {
namespace {

using test::completed;
using test::make_message;

class FinishLive : public LiveTest {
 protected:
  std::unique_ptr<Store> open_through_proxy() {
    PostgresOptions options;
    options.url = fmt::format("postgresql://postgres@127.0.0.1:{}/{}", proxy_.port(), database_);
    options.environment = &environment_;
    auto store = open_store(std::move(options), {});
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  Finish claimed(Store& store, ConsumerNumber consumer, const std::string& key) {
    Claim answer = claim(store, make_message(consumer, key));
    EXPECT_TRUE(is<Acquired>(answer)) << key;
    return completed(std::get<Acquired>(answer).lease);
  }

  test::TcpProxy proxy_{server_.port()};
};

// The server has committed, although it has got nothing but the statement: one round trip.
TEST_F(FinishLive, ALostAnswerIsInDoubt) {
  const auto store = open_through_proxy();
  const ConsumerNumber consumer = attach(*store);
  const Finish done = claimed(*store, consumer, "a");
  const auto lost =
      proxy_.inject({.text = "enable_bitmapscan", .then = test::TcpProxy::Then::kWithhold});
  const auto applied = store->finish({&done, 1});
  ASSERT_EQ(proxy_.fired(lost), 1U);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().kind, ErrorKind::kInDoubt) << applied.error().message;
  EXPECT_TRUE(is<Completed>(claim(*store, make_message(consumer, "a"))));
}

// Some are completed when the others are looked at.
TEST_F(FinishLive, AFailureAfterSomeAreCompletedIsInDoubt) {
  const auto store = open_through_proxy();
  const ConsumerNumber consumer = attach(*store);
  std::vector<Finish> batch = {claimed(*store, consumer, "a"), claimed(*store, consumer, "b"),
                               claimed(*store, consumer, "c")};
  batch[1].lease->nonce = batch[2].lease->nonce;
  const auto lost =
      proxy_.inject({.text = "w(id, nonce, result)", .then = test::TcpProxy::Then::kLose});
  const auto applied = store->finish(batch);
  ASSERT_EQ(proxy_.fired(lost), 1U);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().kind, ErrorKind::kInDoubt) << applied.error().message;
  EXPECT_TRUE(is<Completed>(claim(*store, make_message(consumer, "a"))));
  EXPECT_TRUE(is<Busy>(claim(*store, make_message(consumer, "b"))));
}

// The nonce of one does not fit the record of another.
TEST_F(FinishLive, ALateHolderChangesNothingAndItsNeighboursAreCompleted) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  std::vector<Finish> batch = {claimed(*store, consumer, "a"), claimed(*store, consumer, "b"),
                               claimed(*store, consumer, "c")};
  batch[1].lease->nonce = batch[2].lease->nonce;
  const auto applied = store->finish(batch);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  EXPECT_EQ(*applied, (std::vector{Applied::kYes, Applied::kLeaseLost, Applied::kYes}));
  EXPECT_TRUE(is<Completed>(claim(*store, make_message(consumer, "a"))));
  EXPECT_TRUE(is<Busy>(claim(*store, make_message(consumer, "b"))));
  EXPECT_TRUE(is<Completed>(claim(*store, make_message(consumer, "c"))));
}

}  // namespace
}  // namespace semel::postgres
