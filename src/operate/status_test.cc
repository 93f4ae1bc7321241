#include "operate/status.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace semel::operate {
namespace {

constexpr StoreTime kNow{std::chrono::milliseconds(1'000'000)};

std::string state_of(ConsumerStatus row, bool known = true) {
  conclude(row, known, kNow);
  return row.state;
}

ConsumerStatus run_by(std::vector<std::int64_t> pids) {
  ConsumerStatus row;
  row.name = "payments";
  row.counts.running_pids = std::move(pids);
  return row;
}

HealthView trouble_of(std::int64_t pid) {
  HealthView view;
  view.pid = pid;
  view.troubles.push_back({"store", kNow, "it is away"});
  return view;
}

TEST(OperateStatus, AConsumerFailsWhereEachProcessTellsOfATrouble) {
  ConsumerStatus row = run_by({17, 18});
  EXPECT_EQ(state_of(row), "running");
  row.health.push_back(trouble_of(17));
  EXPECT_EQ(state_of(row), "running") << "18 could not be asked";
  row.health.push_back(trouble_of(18));
  EXPECT_EQ(state_of(row), "failing");
  row.gate = ShutGate{"ticket 7", kNow, std::nullopt};
  EXPECT_EQ(state_of(row), "paused");
  row.gate->until = kNow;
  EXPECT_EQ(state_of(row), "shut");
}

TEST(OperateStatus, AConsumerIsDownWhereMessagesWaitAndNobodyRunsIt) {
  EXPECT_EQ(state_of(run_by({})), "idle");
  EXPECT_EQ(state_of(run_by({}), false), "new");
  ConsumerStatus held = run_by({});
  held.counts.held = 1;
  EXPECT_EQ(state_of(held), "down");
  ConsumerStatus behind = run_by({});
  behind.lag = WaitingAtSource{3, std::nullopt};
  EXPECT_EQ(state_of(behind), "down");
  behind.lag = WaitingAtSource{0, Error{ErrorKind::kUnavailable, "", "no broker", ""}};
  EXPECT_EQ(state_of(behind), "unknown");
}

TEST(OperateStatus, AMessageIsNotCountedTwice) {
  const auto waiting = [](std::size_t consuming, std::size_t retrying, std::size_t held,
                          std::optional<WaitingAtSource> lag = std::nullopt) {
    ConsumerStatus row;
    row.counts.consuming = consuming;
    row.counts.retrying = retrying;
    row.counts.held = held;
    row.lag = std::move(lag);
    return row.waiting();
  };
  EXPECT_EQ(waiting(1, 2, 2), 3U) << "each retry is held";
  EXPECT_EQ(waiting(1, 0, 1), 1U) << "a process was killed while it handled a message of the queue";
  EXPECT_EQ(waiting(1, 2, 5), 5U) << "two of the queue were not begun";
  EXPECT_EQ(waiting(1, 0, 0, WaitingAtSource{1, {}}), 1U) << "its offset is not committed";
  EXPECT_EQ(waiting(1, 0, 0, WaitingAtSource{0, {}}), 1U) << "the source does not count it";
  EXPECT_EQ(waiting(1, 2, 2, WaitingAtSource{4, {}}), 6U);
}

TEST(OperateStatus, AgesAreThoseOfTheMoment) {
  ConsumerStatus row = run_by({17});
  row.counts.oldest_waiting = kNow - std::chrono::seconds(5);
  row.counts.last_change = kNow - std::chrono::seconds(4);
  HealthView view;
  view.last_end = kNow - std::chrono::seconds(1);
  row.health.push_back(view);
  conclude(row, true, kNow);
  EXPECT_EQ(row.oldest_age, std::chrono::seconds(5));
  EXPECT_EQ(row.last, kNow - std::chrono::seconds(1));
  row.counts.oldest_waiting = kNow + std::chrono::seconds(5);
  conclude(row, true, kNow);
  EXPECT_EQ(row.oldest_age, std::chrono::seconds(0)) << "the store's clock is ahead";
}

TEST(OperateStatus, ADocumentSaysWhatTheConfigDoesNotHave) {
  Status status = status_of_store(StoreStats(), "memory");
  StoreStats::Consumer counts;
  counts.name = "refunds";
  counts.dead_letters = 2;
  status.consumers.push_back(removed_consumer(counts, kNow));
  const std::string text =
      status_document(status, [](StoreTime) { return std::string("then"); }).text();
  EXPECT_NE(text.find(R"("name":"refunds","state":"removed","consuming":0)"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace semel::operate
