// Messages of a line keep their order: which are put aside, and which return.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/in_flight_deliveries.h"
#include "engine/test_in_flight.h"
#include "tests/support/builders.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;

// The payload identifies a delivery.
core::TrackedDelivery in_line(std::string_view name, std::string_view line,
                              std::optional<RowTag> row = {}, std::uint64_t question = 0) {
  static std::uint64_t number = 0;
  auto parts = test::make_parts(kFlightConsumer, name, name);
  parts.ordering_key = line;
  Arrival arrival;
  arrival.line = line;
  arrival.row = row;
  core::TrackedDelivery delivery(Message(std::move(parts)), std::move(arrival));
  delivery.question = question;
  delivery.number = ++number;
  return delivery;
}
std::vector<std::string> names(const std::vector<core::TrackedDelivery>& deliveries) {
  std::vector<std::string> names;
  for (const core::TrackedDelivery& delivery : deliveries) {
    names.emplace_back(delivery.message.payload());
  }
  return names;
}
using Names = std::vector<std::string>;

struct DeliveriesInLines : testing::Test {
  InFlightDeliveries f{{100, 1 << 20},
                       BatchSize(100, 100, milliseconds(20)),
                       0,
                       nullptr,
                       {.on_failure = InFlightDeliveries::OnFailure::kHoldKey, .taken_over = true}};
  void add(core::TrackedDelivery delivery) {
    std::vector<core::TrackedDelivery> deliveries;
    deliveries.push_back(std::move(delivery));
    f.add(std::move(deliveries));
  }
  void land_left(core::TrackedDelivery& delivery) {
    std::vector<PendingSettlement> pending_settlements{pending(delivery)};
    pending_settlements[0].again = pending_settlements[0].left = true;
    pending_settlements[0].keep = &delivery;
    f.land(pending_settlements, {});
  }
  void land_again(const core::TrackedDelivery& delivery) {
    std::vector<PendingSettlement> pending_settlements{pending(delivery)};
    pending_settlements[0].again = true;
    pending_settlements[0].line = *delivery.arrival.line;
    f.land(pending_settlements, {});
    f.returned();
  }
};

TEST_F(DeliveriesInLines, WhatFollowsOneThatComesAgainIsPutAside) {
  add(in_line("a1", "a"));
  add(in_line("a2", "a"));
  add(in_line("a3", "a", RowTag{7}));
  add(in_line("b1", "b"));
  const auto batch = f.take(false);
  ASSERT_EQ(names(batch), Names({"a1", "b1"}));
  land_again(batch[0]);
  add(in_line("a4", "a"));
  auto aside = f.take_aside();
  EXPECT_EQ(names(aside.rows), Names{"a3"});
  EXPECT_EQ(names(aside.followers), Names({"a2", "a4"}));
}

TEST_F(DeliveriesInLines, NoMoreIsAskedForWhileRowsAreAside) {
  add(in_line("a1", "a", RowTag{1}));
  add(in_line("a2", "a", RowTag{2}));
  const auto batch = f.take(false);
  EXPECT_TRUE(f.ask_for_more().has_value());
  land_again(batch[0]);
  EXPECT_FALSE(f.ask_for_more().has_value()) << "a2 stands in the store as if it were being tried";
  EXPECT_EQ(names(f.take_aside().rows), Names{"a2"});
  EXPECT_TRUE(f.ask_for_more().has_value());
}

TEST_F(DeliveriesInLines, RowsThatWereAskedForBeforeTheStopAreNotTrusted) {
  add(in_line("a1", "a", RowTag{1}));
  const auto batch = f.take(false);
  const auto before = f.ask();
  land_again(batch[0]);
  add(in_line("a2", "a", RowTag{2}, before));
  EXPECT_EQ(names(f.take_aside().rows), Names{"a2"});
  add(in_line("a1", "a", RowTag{3}, f.ask()));
  EXPECT_EQ(names(f.take(false)), Names{"a1"});
}

TEST_F(DeliveriesInLines, AFreeLineRunsInTheOrderItCame) {
  f.lines_held({"a"}, f.ask());
  add(in_line("a1", "a"));
  add(in_line("a2", "a"));
  auto aside = f.take_aside();
  add(in_line("a3", "a"));
  EXPECT_TRUE(f.line_free("a", std::move(aside.followers), f.ask()).empty());
  EXPECT_FALSE(f.waiting_aside().followers);
  for (const char* name : {"a1", "a2", "a3"}) {
    const auto batch = f.take(false);
    ASSERT_EQ(names(batch), Names{name});
    std::vector<PendingSettlement> pending_settlements{pending(batch[0])};
    f.land(pending_settlements, {});
    f.returned();
  }
}

// Another process may have stopped any line since this one asked for all.
TEST(DeliveriesInSharedLines, WhatComesFromOutsideWaitsForTheStoresAnswer) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0, nullptr,
                       {.on_failure = InFlightDeliveries::OnFailure::kHoldKey, .shared = true});
  std::vector<core::TrackedDelivery> deliveries;
  deliveries.push_back(in_line("a1", "a"));
  deliveries.push_back(in_line("b1", "b", RowTag{3}, f.ask()));
  f.add(std::move(deliveries));
  const auto rows = f.take(false);
  EXPECT_EQ(names(rows), Names{"b1"}) << "the store itself has brought it";
  auto aside = f.take_aside();
  ASSERT_EQ(names(aside.followers), Names{"a1"});
  EXPECT_TRUE(f.line_free("a", std::move(aside.followers), f.ask()).empty());
  std::vector<PendingSettlement> pending_settlements{pending(rows[0])};
  f.land(pending_settlements, {});
  f.returned();
  f.ran(1, false, 0, std::nullopt);
  EXPECT_EQ(names(f.take(false)), Names{"a1"});
}

// Another process may have stopped any line since.
TEST_F(DeliveriesInLines, ForgottenLinesAreAskedForUntilALaterQuestionIsAnswered) {
  const auto before = f.ask();
  f.forget_lines();
  f.lines_held({}, before);
  EXPECT_TRUE(f.waiting_aside().ask_for_all) << "that answer is too old";
  add(in_line("a1", "a"));
  EXPECT_TRUE(f.take(false).empty());
  EXPECT_EQ(names(f.take_aside().followers), Names{"a1"});
  f.lines_held({"a"}, f.ask());
  EXPECT_FALSE(f.waiting_aside().ask_for_all);
  add(in_line("a2", "a"));
  add(in_line("b1", "b"));
  EXPECT_EQ(names(f.take(false)), Names{"b1"});
  EXPECT_EQ(names(f.take_aside().followers), Names{"a2"});
}

// The message that a line waited for is gone, and the deliveries aside have not been told.
TEST_F(DeliveriesInLines, NothingPassesWhatIsAsideThoughTheStoreHasNoneOfItsLine) {
  f.forget_lines();
  add(in_line("a1", "a"));
  f.lines_held({}, f.ask());
  add(in_line("a2", "a"));
  EXPECT_TRUE(f.take(false).empty());
  auto aside = f.take_aside();
  EXPECT_EQ(names(aside.followers), Names({"a1", "a2"}));
  EXPECT_TRUE(f.line_free("a", std::move(aside.followers), f.ask()).empty());
  EXPECT_EQ(names(f.take(false)), Names{"a1"});
}

// The store knows of a failure before it has landed here: behind that row would be before a2.
TEST_F(DeliveriesInLines, WhatContinuesOthersInHandIsNotPutBeforeThem) {
  add(in_line("a1", "a"));
  add(in_line("a2", "a"));
  const auto batch = f.take(false);
  ASSERT_EQ(names(batch), Names{"a1"});
  f.lines_held({"a"}, f.ask());
  add(in_line("a3", "a"));
  f.forget_lines();
  add(in_line("a4", "a"));
  EXPECT_FALSE(f.waiting_aside().followers);
  auto of_another = in_line("b1", "a");
  of_another.arrival.tag.generation = 7;
  add(std::move(of_another));
  EXPECT_EQ(names(f.take_aside().followers), Names{"b1"}) << "another process had it meanwhile";
  land_again(batch[0]);
  EXPECT_EQ(names(f.take_aside().followers), Names({"a2", "a3", "a4"}));
  f.forget_lines();
  add(in_line("a5", "a"));
  EXPECT_EQ(names(f.take_aside().followers), Names{"a5"}) << "those before it are aside";
}

// Its key is the ordering key of a1 and a2, and it has no ordering key itself.
TEST_F(DeliveriesInLines, AMessageWithoutALineNeitherWaitsNorLetsOthersPass) {
  const auto without_line = [](std::string_view name) {
    return core::TrackedDelivery(Message(test::make_parts(kFlightConsumer, "a", name)), Arrival{});
  };
  add(in_line("a1", "a"));
  add(without_line("x"));
  const auto batch = f.take(false);
  ASSERT_EQ(names(batch), Names({"a1", "x"}));
  add(without_line("y"));
  land_again(batch[0]);
  EXPECT_FALSE(f.waiting_aside().followers) << "it is in no line";
  add(in_line("a2", "a"));
  EXPECT_EQ(names(f.take_aside().followers), Names{"a2"});
}

// A load knows that a1 has failed; what did not run with it must not go before a4.
TEST_F(DeliveriesInLines, AFollowerThatDidNotRunStaysBeforeWhatIsInHand) {
  f.allow_followers(true);
  for (int i = 1; i <= 3; ++i) add(in_line("a" + std::to_string(i), "a"));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 3U);
  add(in_line("a4", "a"));
  f.lines_held({"a"}, f.ask());
  land_left(batch[1]);
  land_left(batch[2]);
  EXPECT_FALSE(f.waiting_aside().followers);
  std::vector<PendingSettlement> pending_settlements{pending(batch[0])};
  f.land(pending_settlements, {});
  f.returned();
  EXPECT_EQ(names(f.take(false)), Names({"a2", "a3", "a4"}));
}

TEST_F(DeliveriesInLines, AnAnswerThatIsTooOldFreesNothing) {
  f.lines_held({"a"}, f.ask());
  add(in_line("a0", "a", RowTag{1}, f.ask()));
  const auto batch = f.take(false);
  add(in_line("a1", "a"));
  auto aside = f.take_aside();
  const auto asked = f.ask();
  land_again(batch[0]);
  EXPECT_EQ(names(f.line_free("a", std::move(aside.followers), asked)), Names{"a1"});
}

TEST_F(DeliveriesInLines, AFollowerThatDidNotRunComesInItsOrder) {
  f.allow_followers(true);
  for (const char* name : {"a1", "a2", "a3"}) add(in_line(name, "a"));
  auto batch = f.take(false);
  ASSERT_EQ(names(batch), Names({"a1", "a2", "a3"}));
  std::vector<PendingSettlement> pending_settlements{pending(batch[0])};
  f.land(pending_settlements, {});
  land_left(batch[1]);
  EXPECT_FALSE(f.ready()) << "one of them is in hand still";
  land_left(batch[2]);
  f.returned();
  EXPECT_EQ(names(f.take(false)), Names({"a2", "a3"}));
  EXPECT_EQ(f.capacity().messages, 98U);
}

TEST_F(DeliveriesInLines, AFollowerThatDidNotRunGoesAsideWithWhatIsBehindIt) {
  f.allow_followers(true);
  for (int i = 1; i <= 3; ++i) add(in_line("a" + std::to_string(i), "a"));
  auto batch = f.take(false);
  add(in_line("a4", "a"));
  land_left(batch[1]);
  land_left(batch[2]);
  land_again(batch[0]);
  EXPECT_EQ(names(f.take_aside().followers), Names({"a2", "a3", "a4"}));
}

TEST_F(DeliveriesInLines, AFollowerThatDidNotRunGoesAsideWhereItsLineHasStopped) {
  f.allow_followers(true);
  for (int i = 1; i <= 3; ++i) add(in_line("a" + std::to_string(i), "a", RowTag{i}, f.ask()));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 3U);
  land_again(batch[0]);
  land_left(batch[1]);
  land_left(batch[2]);
  EXPECT_EQ(names(f.take_aside().rows), Names({"a2", "a3"}));
  EXPECT_TRUE(f.empty());
}

}  // namespace
}  // namespace semel::engine
