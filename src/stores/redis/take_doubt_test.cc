// Takes whose answers are lost after the server has run them: nobody has their rows in hand.
#include <fmt/format.h>

#include <semel/spi/held_messages.h>

#include <optional>
#include <string>
#include <vector>

#include "stores/redis/held.h"
#include "stores/redis/held_rows.h"
#include "stores/redis/store_context.h"
#include "stores/redis/test_cluster_place.h"
#include "stores/redis/test_place.h"
#include "tests/support/tcp_proxy.h"

namespace semel::redis {
namespace {

using test::TcpProxy;

// A text that nothing but a take sends.
constexpr milliseconds kHidden{7'654'321};

Call about(const StoreContext& context, const std::string& prefix, ConsumerNumber consumer) {
  Call call;
  call.keys = {context.names.last_row(consumer)};
  call.arguments = {prefix, std::to_string(static_cast<std::uint32_t>(consumer))};
  return call;
}

// How many rows it had.
std::size_t run_take(StoreContext& context, const std::string& prefix, ConsumerNumber consumer,
                     const Bytes& take) {
  Call call = about(context, prefix, consumer);
  call.arguments.append({take, "100", "1000000", "60000", "0", ""});
  const Reply reply = context.run_one(context.scripts.take, call, Loss::kInDoubt);
  constexpr std::size_t kBefore = 2, kWords = 4;
  return (reply.list.size() - kBefore) / kWords;
}

std::optional<Bytes> first_letter(const Arrival& arrival) { return arrival.payload.substr(0, 1); }

class TakesInDoubt : public testing::Test {
 protected:
  HeldMessages& held() { return *place_.store().facets().held; }
  Result<std::vector<Arrival>> try_take(std::size_t most, const LineOf& line_of = first_letter) {
    return held().take(place_.consumer(), most, 64 << 20, kHidden, line_of);
  }
  std::vector<Arrival> take(std::size_t most = 100, const LineOf& line_of = first_letter) {
    return try_take(most, line_of).value();
  }
  void append(const std::vector<std::string>& payloads) {
    std::vector<OutgoingMessage> messages(payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) messages[i].payload = payloads[i];
    ASSERT_TRUE(held().append(place_.consumer(), messages).has_value());
  }
  // The scripts are known by then: the fault is that of the take itself.
  void warm_up() {
    append({"warm"});
    const auto taken = take();
    ASSERT_EQ(taken.size(), 1U);
    remove(taken);
    ASSERT_TRUE(take().empty());
  }
  void remove(const std::vector<Arrival>& taken) {
    std::vector<RowTag> rows;
    for (const Arrival& arrival : taken) rows.push_back(*arrival.row);
    ASSERT_TRUE(held().remove(rows).has_value());
  }
  static std::vector<std::string> payloads_of(const std::vector<Arrival>& taken) {
    std::vector<std::string> payloads;
    for (const Arrival& arrival : taken) payloads.push_back(arrival.payload);
    return payloads;
  }
  // The server runs the take, and its answer is lost.
  void lose_a_take(std::size_t most = 100, const LineOf& line_of = first_letter) {
    const auto fault =
        proxy_.inject({.text = std::to_string(kHidden.count()), .then = TcpProxy::Then::kWithhold});
    const auto lost = try_take(most, line_of);
    ASSERT_EQ(proxy_.fired(fault), 1U);
    proxy_.clear();
    ASSERT_FALSE(lost.has_value());
    EXPECT_EQ(lost.error().kind, ErrorKind::kInDoubt) << lost.error().message;
  }

  // The name of the take that a row is with.
  Bytes taken_by(const RowPlace& row) {
    constexpr const char* kHolder =
        "return string.sub(redis.call('HGET', KEYS[1], ARGV[1]), 29, 36)";
    return shared().run({"EVAL", kHolder, "1",
                         fmt::format("{}{{h{}.{}}}m", place_.prefix(), row.consumer, row.lane),
                         row.number_text()});
  }

  using Payloads = std::vector<std::string>;

  TcpProxy proxy_{shared().port()};
  TestPlace place_{shared(), fmt::format("redis://127.0.0.1:{}", proxy_.port())};
  StoreContext context_{system_environment(),
                        {target_of(shared().url()), place_.prefix(), false, 1, {}},
                        kServerClock};
};

TEST_F(TakesInDoubt, WhatFollowsInItsLineDoesNotOvertakeARowThatNobodyHas) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  append({"a1"});
  ASSERT_NO_FATAL_FAILURE(lose_a_take());
  append({"a2"});
  const auto taken = take();
  EXPECT_EQ(payloads_of(taken), (Payloads{"a1", "a2"}));
  for (const Arrival& arrival : taken) EXPECT_FALSE(arrival.suspect) << "nobody has tried it";
}

TEST_F(TakesInDoubt, WhatWasInHandBeforeStaysThereAndInOrder) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  append({"a1", "b1"});
  const auto before = take();
  ASSERT_EQ(before.size(), 2U);
  append({"a2"});
  ASSERT_NO_FATAL_FAILURE(lose_a_take());
  append({"a3", "b2"});
  Payloads payloads = payloads_of(take());
  // The row behind "a1" shows again when that has gone.
  remove(before);
  for (const std::string& payload : payloads_of(take())) payloads.push_back(payload);
  std::erase(payloads, "b2");
  EXPECT_EQ(payloads, (Payloads{"a2", "a3"}));
}

TEST_F(TakesInDoubt, SeveralLostOnesShowTogether) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  append({"a1", "b1", "c1"});
  for (int i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(lose_a_take(1));
  EXPECT_EQ(take().size(), 3U);
}

// More rows than one call gives: the first ones are in hand, and the others with nobody.
TEST_F(TakesInDoubt, ALaterRoundWhoseAnswerIsLostShowsToo) {
  constexpr std::size_t kRows = kMostKeys + 44;
  ASSERT_NO_FATAL_FAILURE(warm_up());
  Payloads payloads;
  for (std::size_t i = 0; i < kRows; ++i) payloads.push_back(fmt::format("row {}", i));
  append(payloads);
  const auto fault = proxy_.inject(
      {.text = fmt::format("\r\n{}\r\n", kRows - kMostKeys), .then = TcpProxy::Then::kWithhold});
  auto taken = take(kRows, LineOf());
  ASSERT_EQ(proxy_.fired(fault), 1U);
  proxy_.clear();
  EXPECT_EQ(taken.size(), kMostKeys);
  for (Arrival& arrival : take(kRows, LineOf())) taken.push_back(std::move(arrival));
  EXPECT_EQ(payloads_of(taken), payloads);
}

// The lost rows are among more than one look of the server reads.
TEST_F(TakesInDoubt, TheyAreFoundAmongManyThatWaitForTheirTime) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  constexpr std::size_t kWaiting = 20'000;
  std::vector<Message> messages;
  for (std::size_t i = 0; i < kWaiting; ++i) messages.push_back(place_.message(std::to_string(i)));
  std::vector<Finish> batch(kWaiting);
  for (std::size_t i = 0; i < kWaiting; ++i) {
    batch[i].to = Finish::To::kRetrying;
    batch[i].keep = &messages[i];
    batch[i].delay = 1h;
  }
  ASSERT_TRUE(place_.store().finish(batch).has_value());
  append({"a1", "b1", "c1"});
  ASSERT_NO_FATAL_FAILURE(lose_a_take());
  EXPECT_EQ(take().size(), 3U);
}

// The network may bring it to the server after the next one has shown what there was.
TEST_F(TakesInDoubt, OneThatTheServerRunsLateIsOvertakenByNoRowOfItsLine) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  append({"a1"});
  const auto fault =
      proxy_.inject({.text = std::to_string(kHidden.count()), .then = TcpProxy::Then::kLose});
  ASSERT_FALSE(try_take(100).has_value());
  ASSERT_EQ(proxy_.fired(fault), 1U);
  proxy_.clear();
  const auto taken = take();
  ASSERT_EQ(payloads_of(taken), Payloads{"a1"}) << "it has not arrived yet";
  Bytes late = taken_by(*place_of(*taken[0].row));
  --late[Instance::kInTake];  // named right before
  ASSERT_TRUE(held().release({&*taken[0].row, 1}, 0ms).has_value());
  ASSERT_EQ(run_take(context_, place_.prefix(), place_.consumer(), late), 1U);
  append({"a2"});
  EXPECT_TRUE(take().empty());
}

// After others took its instance for dead.
TEST_F(TakesInDoubt, AnInstanceUnderAnotherNameHasItsRowsInHandAllTheSame) {
  const auto renamed = make_held(context_);
  append({"a1"});
  const auto taken = renamed->take(place_.consumer(), 100, 1 << 20, kHidden, {}).value();
  ASSERT_EQ(taken.size(), 1U);
  context_.instance.rename();
  ASSERT_TRUE(held().release({&*taken[0].row, 1}, 0ms).has_value());
  EXPECT_TRUE(take().empty()) << "no other one gives it back";
  ASSERT_TRUE(renamed->release({&*taken[0].row, 1}, 0ms).has_value());
  EXPECT_EQ(payloads_of(take()), Payloads{"a1"});
}

class ClusterTakesInDoubt : public ClusterTest {};

TEST_F(ClusterTakesInDoubt, WhatALostOneHadIsShown) {
  const auto store = open(system_environment());
  HeldMessages& held = *store->facets().held;
  std::vector<OutgoingMessage> rows(20);
  ASSERT_TRUE(held.append(consumer_, rows).has_value());
  StoreContext context(system_environment(), {target_of(cluster_.url()), prefix_, true, 1, {}},
                       kServerClock);
  const Bytes lost = context.instance.name_take();
  ASSERT_EQ(run_take(context, prefix_, consumer_, lost), rows.size());
  ASSERT_TRUE(held.take(consumer_, 100, 1 << 20, 60s, {})->empty());
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Call call = about(context, prefix_, consumer_);
    call.arguments.append({std::to_string(lane), "0", lost});
    const Reply shown = context.run_one(context.scripts.show_lost, call, Loss::kNothingDone);
    EXPECT_EQ(shown.bytes, "0");
  }
  EXPECT_EQ(held.take(consumer_, 100, 1 << 20, 60s, {})->size(), rows.size());
}

}  // namespace
}  // namespace semel::redis
