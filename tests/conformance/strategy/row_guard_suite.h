// Shared by the tests of pessimistic_lock and optimistic_lock: messages with different keys about
// one business row.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <semel/environment.h>

#include "core/row_select.h"
#include "handlers/sql/row_guards.h"
#include "tests/conformance/strategy_suite.h"
#include "tests/support/waiting.h"

namespace semel::conformance {

inline std::map<std::string, core::SqlParam> guard_params() {
  core::SqlParam id;
  id.pointer = json::Pointer::parse("/id").value();
  return {{"id", id}};
}

// The table has no unique key: nothing but the guard keeps a row from being made twice.
class RowGuardSuite : public StrategySuite {
 protected:
  void SetUp() override {
    StrategySuite::SetUp();
    place_->sql("CREATE TABLE orders (id BIGINT, status VARCHAR(20), version BIGINT, n BIGINT)");
    other_ = place_->open();
    ASSERT_EQ(other_->attach({"payments", "test", false, std::nullopt}), consumer_);
  }
  void TearDown() override {
    other_.reset();
    StrategySuite::TearDown();
  }

  core::RowLocks locks() const {
    return inner_->traits().single_writer ? core::RowLocks::kOneWriter : core::RowLocks::kForUpdate;
  }
  handlers::RowGuard guard(core::VersionSpec::Missing missing) const {
    if (GetParam().kind == StrategyKind::kPessimisticLock) {
      const core::LockSpec spec{"SELECT status FROM orders WHERE id = :id FOR UPDATE",
                                "status = 'PAID'", guard_params()};
      return handlers::make_lock_guard(spec, locks()).value();
    }
    core::VersionSpec spec;
    spec.from.pointer = json::Pointer::parse("/version").value();
    spec.current = "SELECT version FROM orders WHERE id = :id";
    spec.missing = missing;
    spec.params = guard_params();
    return handlers::make_version_guard(spec, locks()).value();
  }
  std::unique_ptr<strategies::Strategy> guarded(Store& store, TransactionalHandler work,
                                                core::VersionSpec::Missing missing = {}) const {
    strategies::Context context;
    context.consumer = "payments";
    context.store = &store;
    context.environment = &system_environment();
    context.retry.attempts = kAttempts;
    context.retry.first = std::chrono::milliseconds(5);
    context.retry.longest = std::chrono::milliseconds(20);
    context.claim.lease = kLease;
    context.handler = std::move(work);
    context.row_guard = guard(missing);
    return strategies::make_strategy(GetParam().kind, std::move(context));
  }

  // The effect of a message about order 1, under this case's strategy.
  TransactionalHandler work() {
    return [this](const Message& message, Transaction& tx) { return change(message, tx); };
  }
  Verdict change(const Message& message, Transaction& tx) {
    if (GetParam().kind == StrategyKind::kPessimisticLock) {
      tx.exec("UPDATE orders SET n = n + 1, status = 'PAID' WHERE id = 1");
    } else {
      const std::string version = version_of(message);
      tx.exec(
          fmt::format("UPDATE orders SET n = n + 1, version = {0} + 1 WHERE id = 1 AND version "
                      "= {0}",
                      version));
    }
    tx.exec("INSERT INTO effect (name) VALUES (?)", message.key().text);
    return done();
  }
  static std::string version_of(const Message& message) {
    const std::string_view payload = message.payload();
    return std::string(payload.substr(payload.rfind(':') + 1, 1));
  }

  core::TrackedDelivery about(const std::string& key, int version = 1, int id = 1) const {
    return test::make_delivery(consumer_, key,
                               fmt::format("{{\"id\":{},\"version\":{}}}", id, version));
  }
  Outcomes one(strategies::Strategy& strategy, core::TrackedDelivery delivery) {
    std::vector<core::TrackedDelivery> all;
    all.push_back(std::move(delivery));
    return process(strategy, std::move(all));
  }
  // A unit of another process that has changed order 1 and not committed yet.
  std::unique_ptr<UnitOfWork> changing(const std::string& key, const std::string& sql) {
    auto unit = other_->facets().transactional->begin({}).value();
    const Message message = test::make_message(consumer_, key, "{}");
    const Message* const pointer = &message;
    lease_ = std::get<Acquired>(unit->claim({&pointer, 1}).value().at(0)).lease;
    RecordedStatement recorded;
    recorded.statement = admit_statement(sql).value();
    unit->run(0, {recorded});
    EXPECT_TRUE(unit->flush().has_value());
    return unit;
  }
  void commit(std::unique_ptr<UnitOfWork> unit) const {
    const Finish end = test::completed(lease_);
    ASSERT_TRUE(unit->finish({&end, 1}).has_value());
    ASSERT_TRUE(unit->commit().has_value());
  }
  bool somebody_waits() {
    return test::comes_true([this] { return place_->somebody_waits(); });
  }
  std::int64_t changes() { return place_->sql("SELECT SUM(n) FROM orders"); }

  std::unique_ptr<Store> other_;
  Lease lease_;
};

class PessimisticLockSuite : public RowGuardSuite {
 protected:
  // Makes the row, where there is none.
  static TransactionalHandler inserting() {
    return [](const Message& message, Transaction& tx) {
      const std::string_view payload = message.payload();
      tx.exec(fmt::format("INSERT INTO orders VALUES ({}, 'PAID', 0, 1)",
                          payload.substr(6, payload.find(',') - 6)));
      tx.exec("INSERT INTO effect (name) VALUES (?)", message.key().text);
      return done();
    };
  }
};

class OptimisticLockSuite : public RowGuardSuite {};

}  // namespace semel::conformance
