// Process: a simulated consumer, until it ends.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <semel/observer.h>
#include <semel/outcome.h>
#include <semel/spi/store.h>
#include <semel/testing/deliver.h>
#include "strategies/strategy.h"

#include "core/guarantee.h"
#include "testing/broker.h"
#include "testing/life.h"

namespace semel::testkit {

// The same in all runs.
struct Subject {
  Handler handler;
  std::vector<TestMessage> messages;
  DeliverOptions options;
  core::StrategyKind strategy{};  // without a Guard
  Store* store = nullptr;
  FakeEnvironment* environment = nullptr;  // the store's
  // The names of consumers are new in each call on a store.
  std::size_t series = 0;
};

// A consumer's name and number are new in each run, so that no run finds the records of another.
struct RunNames {
  std::string consumer;
  ConsumerNumber number{};
  Queues receivers;
};

class Process;

// Decides what happens at a point.
class Fate {
 public:
  virtual ~Fate() = default;
  virtual void at(Process& process, std::string_view point) = 0;
};

class Process final : public Life {
 public:
  // Borrows all of it.
  Process(const Subject& subject, const RunNames& names, Fate& fate, Broker::Member member);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool pass(std::string_view point) override;
  bool over() const noexcept override { return over_; }
  void unit_opened() noexcept override { ++units_; }
  void unit_closed() noexcept override { --units_; }

  // From now on nothing of it happens.
  void end() noexcept { over_ = true; }
  bool holds_store() const noexcept { return units_ > 0; }
  Broker::Member member() const noexcept { return member_; }

  // The outcome of each; meaningless where the process has ended.
  std::vector<Outcome> handle(std::span<core::TrackedDelivery> batch);

 private:
  std::unique_ptr<strategies::Strategy> made_strategy(const RunNames& names);
  Handler watched(const Handler& handler);
  std::vector<Outcome> by_strategy(std::span<core::TrackedDelivery> batch);
  std::vector<Outcome> by_guard(std::span<core::TrackedDelivery> batch);
  Outcome by_guard_alone(const Message& message);
  Outcome answer_of(const Result<Outcome>& answer) const;

  template <class Call>
  auto live(Call&& call) -> decltype(call());

  const Subject& subject_;
  Fate& fate_;
  const Broker::Member member_;
  bool over_ = false;
  int units_ = 0;
  Observer unobserved_;
  const std::unique_ptr<Store> store_;
  const Handler handler_;
  std::unique_ptr<strategies::Strategy> strategy_;  // null: a Guard is used
  std::unique_ptr<Guard> guard_;
};

}  // namespace semel::testkit
