// Cases that keep a record, with an age gate.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/reason.h>

#include "core/age_gate.h"
#include "strategies/age_gate.h"
#include "tests/conformance/strategy_suite.h"

namespace semel::conformance {

class AgeGateSuite : public StrategySuite {
 protected:
  static constexpr std::chrono::days kTtl{8};
  static constexpr std::chrono::milliseconds kTooOld = kTtl;
  static constexpr std::chrono::milliseconds kYoung = std::chrono::days(6);

  void SetUp() override {
    StrategySuite::SetUp();
    lease_ = kLongLease;
    gate(core::TooOld::kPark);
  }

  // A gate of the real store's clock, which the test may move, over a known horizon.
  void gate(core::TooOld too_old) {
    const auto limit = core::age_limit_of(kTtl, too_old);
    age_gate_.reset();
    if (!limit) return;
    age_gate_ = std::make_shared<strategies::AgeGate>(
        *limit,
        [this]() -> Result<StoreTime> {
          ++clock_reads_;
          if (clock_fails_ > 0) {
            --clock_fails_;
            return failure(Error{ErrorKind::kUnavailable, "R200", "away", {}});
          }
          auto now = inner_->facets().records->read_clock();
          if (now) *now += store_ahead_;
          return now;
        },
        *system_environment().clock);
    age_gate_->note(Horizon{kTtl, "the test's source", true});
  }

  std::vector<core::TrackedDelivery> aged(const std::vector<std::string>& keys,
                                          std::chrono::milliseconds age,
                                          const std::string& payload = "{}") const {
    auto deliveries = batch(keys, payload);
    for (core::TrackedDelivery& delivery : deliveries) {
      delivery.arrival.broker_time = std::chrono::system_clock::now() - age;
    }
    return deliveries;
  }
  KeyId id_of(const std::string& key) const { return test::make_message(consumer_, key).key().id; }
  RecordView record_of(const std::string& key) const {
    const auto record = inner_->facets().records->show(id_of(key));
    EXPECT_TRUE(record && *record) << key;
    return record && *record ? **record : RecordView{};
  }
  bool has_record(const std::string& key) const {
    return inner_->facets().records->show(id_of(key)).value().has_value();
  }
  void expect_parked(const Outcomes& outcomes, const std::string& key) {
    EXPECT_EQ(last(outcomes, key).kind, Outcome::Kind::kParked) << key;
    EXPECT_EQ(last(outcomes, key).reason, reason::kTooOld) << key;
    EXPECT_EQ(last(outcomes, key).settle, Outcome::Settle::kAck) << "the store keeps it";
    EXPECT_EQ(last(outcomes, key).attempt, 0) << "its handler was not called";
    EXPECT_EQ(record_of(key).state, RecordState::kParked) << key;
    EXPECT_EQ(record_of(key).reason, reason::kTooOld) << key;
    EXPECT_EQ(runs(key), 0) << key;
  }
  // The claim of a process that died before it could record anything.
  void leave_claim(const Message& message) {
    ClaimOptions options;
    options.lease = std::chrono::milliseconds(1);
    const Message* const one = &message;
    const auto claims = inner_->claim({&one, 1}, options);
    ASSERT_TRUE(claims && std::holds_alternative<Acquired>(claims->front()));
  }
  // The claims of the strategy are committed before its work.
  static bool claims_first() {
    return GetParam().kind == StrategyKind::kStateMachine ||
           GetParam().kind == StrategyKind::kFence || GetParam().kind == StrategyKind::kAtMostOnce;
  }

  // A message that is too old ends in one transaction.
  bool parks_in_unit() const { return inner_->facets().transactional != nullptr; }

  std::chrono::milliseconds store_ahead_{0};  // of the store's own clock
  int clock_fails_ = 0;                       // readings of it that fail
  int clock_reads_ = 0;
};

inline std::vector<StrategyCase> age_gate_cases(
    const std::string& store, const std::function<std::unique_ptr<StrategyPlace>()>& make,
    bool transactions) {
  std::vector<StrategyCase> all = cases_of(store, make, transactions);
  std::erase_if(all, [](const StrategyCase& one) { return !one.has_records(); });
  for (StrategyCase& one : at_most_once_cases(store, make)) all.push_back(std::move(one));
  return all;
}

}  // namespace semel::conformance
