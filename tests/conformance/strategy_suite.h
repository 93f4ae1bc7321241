// The case of the strategy suite: a store, a strategy, a kind of handler, and a small engine.
//
// Effects are counted where no strategy looks: in a table read by another connection, or in a list
// of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/store.h>
#include "strategies/strategy.h"

#include "strategies/strategies.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"
#include "tests/support/one_thread.h"
#include "tests/support/recording_observer.h"

namespace semel::conformance {

using core::StrategyKind;

// A database that outlives the stores opened on it.
class StrategyPlace {
 public:
  virtual ~StrategyPlace() = default;
  virtual std::unique_ptr<Store> open() = 0;
  // Runs SQL outside of every store and returns its first value, or zero. Only where the store has
  // transactions; there are the tables effect(name), taken(id UNIQUE) and ending(id), an insert
  // into which ends the transaction where a schema can do that, and else fails.
  virtual std::int64_t sql(const std::string& text) = 0;
  // Whether a session waits for another one's lock. Always true if that cannot be found out.
  virtual bool somebody_waits() { return true; }
  // The table in which a person reads received messages.
  virtual std::string inbox() { return "semel_inbox"; }
};

struct StrategyCase {
  std::string store;
  std::function<std::unique_ptr<StrategyPlace>()> make;
  StrategyKind kind;
  bool transactional;  // the kind of handler; where it is not:
  enum class Outside { kPlain, kAsync, kBatch } outside = Outside::kPlain;

  // Its effect happens once, whatever the store's calls come to.
  bool once() const {
    return transactional && kind != StrategyKind::kNatural && kind != StrategyKind::kQuery;
  }
  bool has_records() const {
    return kind != StrategyKind::kNatural && kind != StrategyKind::kQuery;
  }
};
void PrintTo(const StrategyCase& c, std::ostream* out);
inline const testing::PrintToStringParamName kStrategyCaseName;

// Every strategy that can run on a store with or without transactions.
std::vector<StrategyCase> cases_of(const std::string& store,
                                   std::function<std::unique_ptr<StrategyPlace>()> make,
                                   bool transactions);

// The wanted cases of cases_of(), on a store with transactions.
std::vector<StrategyCase> cases_where(const std::string& store,
                                      std::function<std::unique_ptr<StrategyPlace>()> make,
                                      bool (*wanted)(const StrategyCase&));

// at_most_once, with a handler that answers by itself and one that answers later.
std::vector<StrategyCase> at_most_once_cases(const std::string& store,
                                             std::function<std::unique_ptr<StrategyPlace>()> make);

// Remembers how each delivery ended. Safe for several threads.
class EndingsSeen final : public strategies::OutcomeSink {
 public:
  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override;

  std::vector<std::pair<core::TrackedDelivery*, Outcome>> take();
  // Waits until `count` have ended; false if it took too long.
  bool wait(std::size_t count);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<core::TrackedDelivery*, Outcome>> ended_;
};

class StrategySuite : public testing::TestWithParam<StrategyCase> {
 protected:
  using Outcomes = std::multimap<Bytes, Outcome>;
  // An action of a handler before or instead of its effect: it throws, or returns another verdict
  // than done.
  using Twist = std::function<std::optional<Verdict>(const Message&, Transaction*)>;

  static constexpr int kAttempts = 4;
  static constexpr std::chrono::milliseconds kLease{400};
  // For tests in which no lease may end, however slow the machine is.
  static constexpr std::chrono::minutes kLongLease{5};

  void SetUp() override;
  void TearDown() override;

  // A strategy whose handler makes one effect for each message, after `twist`.
  std::unique_ptr<strategies::Strategy> strategy(Twist twist = {});
  std::unique_ptr<strategies::Strategy> strategy_on(Store& store, Twist twist = {});

  std::vector<core::TrackedDelivery> batch(const std::vector<std::string>& keys,
                                           const std::string& payload = "{}") const;
  static std::vector<std::string> keys(std::size_t count, const std::string& prefix = "k");

  // Processes once, and settles the deliveries from the store's own table.
  Outcomes process(strategies::Strategy& strategy, std::vector<core::TrackedDelivery> deliveries);
  // Processes until every delivery is settled; delivers again what must come later.
  Outcomes deliver(strategies::Strategy& strategy, std::vector<core::TrackedDelivery> deliveries);
  // Delivers the store's held messages until there are none.
  Outcomes deliver_held(strategies::Strategy& strategy);

  int effects(const std::string& key);
  int effects();
  int runs(const std::string& key);  // of the handler
  // Another consumer, which is not run.
  ConsumerNumber relay();
  // Each effect publishes a message to it from now on.
  void publish_to_relay() { destinations_ = {{"relay", relay()}}; }
  // The messages in its queue.
  std::vector<Arrival> sent();
  std::size_t count_sent();
  std::vector<DeadLetter> dead_letters();
  static std::size_t count(const Outcomes& outcomes, Outcome::Kind kind);
  static const Outcome& last(const Outcomes& outcomes, const std::string& key);

  std::unique_ptr<StrategyPlace> place_;
  std::unique_ptr<Store> inner_;
  test::FaultPlan faults_;
  std::unique_ptr<Store> store_;
  test::RecordingObserver observer_;
  ConsumerNumber consumer_{};
  std::function<void(const Message&)> after_effect_;  // still inside the handler
  std::map<std::string, ConsumerNumber, std::less<>> destinations_;
  std::optional<ConsumerNumber> copies_to_;        // of dead letters
  std::chrono::milliseconds lease_ = kLease;       // of the strategies that are made from now on
  std::shared_ptr<strategies::AgeGate> age_gate_;  // likewise

 private:
  class ThreadedCompleter;
  Verdict work(const Message& message, Transaction* tx, const Twist& twist);
  Handler handler(const Twist& twist);
  // Waits until each delivery has ended and no thread is inside the strategy any more.
  void run(strategies::Strategy& strategy, std::vector<core::TrackedDelivery>& deliveries,
           EndingsSeen& seen);
  Outcomes settle(EndingsSeen& seen, std::vector<core::TrackedDelivery*>* later);

  std::mutex mutex_;
  std::map<Bytes, int> outside_;  // effects of plain handlers
  std::map<Bytes, int> runs_;
  test::OneThread service_;  // where asynchronous handlers answer
  test::OneThread recording_;
  std::unique_ptr<strategies::Completer> completer_;
};

// Cases whose handler takes a Transaction.
class TransactionalStrategySuite : public StrategySuite {};
// Cases that keep a record.
class RecordStrategySuite : public StrategySuite {};
// Cases that store messages in the table semel_inbox.
class InboxStrategySuite : public StrategySuite {};
// Cases that never repeat a try whose outcome is unknown.
class AtMostOnceSuite : public StrategySuite {};
// Cases whose plain handler runs under a lease.
class LeaseStrategySuite : public StrategySuite {};

}  // namespace semel::conformance
