#include "compose/admin_gauges.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace semel::compose {
namespace {

GaugeInput input_of(std::vector<SourceFigure> figures) {
  GaugeInput input{"sqlite", {}, true, {}, {}, {}, {}, {}};
  input.health.push_back({"payments", {}, std::nullopt});
  input.sources.push_back({"payments", "kafka", std::move(figures), true});
  return input;
}

// The value of the consumer's gauge; nullopt: it has no sample.
std::optional<double> value_of(const GaugeInput& input, const std::string& name) {
  for (const telemetry::MetricFamily& family : gauges_of(input)) {
    if (family.name != name) continue;
    for (const telemetry::Sample& sample : family.samples) {
      if (sample.labels.front().second == "payments") return sample.value;
    }
  }
  return std::nullopt;
}

TEST(AdminGauges, ASourceTellsItsLagAndItsOldestMessage) {
  const GaugeInput input =
      input_of({{"lag", "orders-0", 3, {}}, {"lag", {}, 12, {}}, {"oldest_seconds", {}, 90, {}}});
  EXPECT_EQ(value_of(input, "semel_source_lag_messages"), 12);
  EXPECT_EQ(value_of(input, "semel_source_oldest_seconds"), 90);
}

TEST(AdminGauges, WhatASourceDoesNotTellIsAbsent) {
  const GaugeInput input = input_of({{"pending", {}, 3, {}}});
  EXPECT_EQ(value_of(input, "semel_source_lag_messages"), std::nullopt);
  EXPECT_EQ(value_of(input, "semel_source_oldest_seconds"), std::nullopt);
}

TEST(AdminGauges, TheBacklogIsTheLagAndWhatTheStoreHolds) {
  StoreSnapshot snapshot;
  StoreStats::Consumer consumer;
  consumer.name = "payments";
  consumer.held = 3;
  snapshot.stats.consumers.push_back(consumer);
  const auto backlog = [&](std::vector<SourceFigure> figures, bool tells_lag) {
    GaugeInput input = input_of(std::move(figures));
    input.running = true;
    input.seen.reachable = true;
    input.seen.snapshot = snapshot;
    input.sources.front().tells_lag = tells_lag;
    return backlog_of(input, "payments").messages;
  };
  EXPECT_EQ(backlog({{"lag", "orders-0", 12, {}}, {"lag", {}, 12, {}}}, true), 15);
  EXPECT_EQ(backlog({{"in_hand", {}, 1, {}}}, true), std::nullopt) << "it is not known yet";
  EXPECT_EQ(backlog({}, true), std::nullopt);
  EXPECT_EQ(backlog({{"in_hand", {}, 1, {}}}, false), 3) << "its source never tells any";
}

TEST(AdminGauges, LeasesAreStuckWhereTheStoreCountsThem) {
  GaugeInput input = input_of({});
  StoreSnapshot snapshot;
  StoreStats::Consumer consumer;
  consumer.name = "payments";
  consumer.consuming = 5;
  consumer.stuck = 2;
  snapshot.stats.consumers.push_back(consumer);
  input.seen.snapshot = snapshot;
  EXPECT_EQ(value_of(input, "semel_leases_stuck"), 2);
  input.seen.snapshot->stats.records_counted = false;
  EXPECT_EQ(value_of(input, "semel_leases_stuck"), std::nullopt) << "0 would be a promise";
}

}  // namespace
}  // namespace semel::compose
