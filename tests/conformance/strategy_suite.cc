#include "tests/conformance/strategy_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include <semel/environment.h>
#include <semel/reason.h>

#include "core/row_rules.h"
#include "core/transaction_recorder.h"

namespace semel::conformance {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience{30};

// The business row of a key is its effect: there it is done, and its version is how often it is.
void guard(StrategyKind kind, const Message& message, Transaction& transaction) {
  const Bytes& key = message.key().text;
  auto& recorder = core::TransactionRecorder::of(transaction);
  if (kind == StrategyKind::kPessimisticLock) {
    transaction.exec("SELECT 1 FROM effect WHERE name = ?", key);
    RecordedStatement& recorded = recorder.statements().back();
    recorded.rule = core::done_rule();
    recorded.lock = LockName{};
    std::copy_n(key.begin(), std::min(key.size(), LockName::kSize), recorded.lock->bytes.begin());
  } else {
    transaction.exec("SELECT COUNT(*) FROM effect WHERE name = ?", key);
    recorder.statements().back().rule =
        core::version_rule(0, core::VersionSpec::Missing::kDeadLetter);
    recorder.judge_first_write("effect", core::written_rule());
  }
}

}  // namespace

void PrintTo(const StrategyCase& c, std::ostream* out) {
  constexpr const char* kOutside[] = {"_plain", "_async", "_batch"};
  *out << c.store << '_' << core::to_string(c.kind)
       << (c.transactional ? "_tx" : kOutside[static_cast<int>(c.outside)]);
}

std::vector<StrategyCase> cases_of(const std::string& store,
                                   std::function<std::unique_ptr<StrategyPlace>()> make,
                                   bool transactions) {
  std::vector<StrategyCase> all = {{store, make, StrategyKind::kNatural, false},
                                   {store, make, StrategyKind::kQuery, false},
                                   {store, make, StrategyKind::kStateMachine, false}};
  using Outside = StrategyCase::Outside;
  all.push_back({store, make, StrategyKind::kFence, false, Outside::kAsync});
  for (const StrategyKind kind : {StrategyKind::kNatural, StrategyKind::kStateMachine}) {
    for (const Outside outside : {Outside::kAsync, Outside::kBatch}) {
      all.push_back({store, make, kind, false, outside});
    }
  }
  if (!transactions) return all;
  for (const StrategyKind kind :
       {StrategyKind::kNatural, StrategyKind::kQuery, StrategyKind::kPessimisticLock,
        StrategyKind::kOptimisticLock, StrategyKind::kDedupTable, StrategyKind::kInbox,
        StrategyKind::kStateMachine}) {
    all.push_back({store, make, kind, true});
  }
  return all;
}

std::vector<StrategyCase> cases_where(const std::string& store,
                                      std::function<std::unique_ptr<StrategyPlace>()> make,
                                      bool (*wanted)(const StrategyCase&)) {
  std::vector<StrategyCase> all = cases_of(store, std::move(make), true);
  std::erase_if(all, [&](const StrategyCase& one) { return !wanted(one); });
  return all;
}

std::vector<StrategyCase> at_most_once_cases(const std::string& store,
                                             std::function<std::unique_ptr<StrategyPlace>()> make) {
  const StrategyKind kind = StrategyKind::kAtMostOnce;
  return {{store, make, kind, false}, {store, make, kind, false, StrategyCase::Outside::kAsync}};
}

void EndingsSeen::ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept {
  const std::scoped_lock lock(mutex_);
  ended_.emplace_back(&delivery, std::move(outcome));
  changed_.notify_all();
}

bool EndingsSeen::wait(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return ended_.size() >= count; });
}

std::vector<std::pair<core::TrackedDelivery*, Outcome>> EndingsSeen::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(ended_, {});
}

class StrategySuite::ThreadedCompleter final : public strategies::Completer {
 public:
  explicit ThreadedCompleter(test::OneThread& thread) : thread_(thread) {}
  void post(std::function<void()> work) override { thread_.run(std::move(work)); }

 private:
  test::OneThread& thread_;
};

void StrategySuite::SetUp() {
  completer_ = std::make_unique<ThreadedCompleter>(recording_);
  place_ = GetParam().make();
  inner_ = place_->open();
  store_ = test::make_fault_store(*inner_, faults_);
  const auto number = store_->attach({"payments", "test", false, std::nullopt});
  ASSERT_TRUE(number) << number.error().message;
  consumer_ = *number;
}

void StrategySuite::TearDown() {
  store_.reset();
  inner_.reset();
}

Verdict StrategySuite::work(const Message& message, Transaction* tx, const Twist& twist) {
  const Bytes& key = message.key().text;
  {
    const std::scoped_lock lock(mutex_);
    ++runs_[key];
  }
  if (twist) {
    if (auto verdict = twist(message, tx)) return *std::move(verdict);
  }
  if (tx != nullptr) {
    tx->exec("INSERT INTO effect (name) VALUES (?)", key);
  } else {
    const std::scoped_lock lock(mutex_);
    ++outside_[key];
  }
  if (after_effect_) after_effect_(message);
  if (destinations_.empty()) return done("result of " + key);
  OutgoingMessage out;
  out.payload = "of " + key;
  if (tx == nullptr) return done("result of " + key, {{"relay", std::move(out)}});
  tx->publish("relay", std::move(out));
  return done("result of " + key);
}

Handler StrategySuite::handler(const Twist& twist) {
  if (GetParam().transactional) {
    return TransactionalHandler(
        [this, twist](const Message& m, Transaction& tx) { return work(m, &tx, twist); });
  }
  switch (GetParam().outside) {
    case StrategyCase::Outside::kAsync:
      return AsyncHandler([this, twist](const Message& m, const Attempt&, Completion completion) {
        auto answer = std::make_shared<Completion>(std::move(completion));
        service_.run([this, &m, answer, twist] {
          // A service of the user's catches what it throws; so does the completion that is dropped.
          try {
            (*answer)(work(m, nullptr, twist));
          } catch (const PayloadInvalid&) {
            Verdict::Dead invalid;
            invalid.reason = "the payload is not what was expected";
            invalid.code = reason::kPayloadInvalid;
            (*answer)(std::move(invalid));
          } catch (const std::exception& thrown) {
            (*answer)(retry(thrown.what()));
          } catch (...) {
            (*answer)(retry("thrown"));
          }
        });
      });
    case StrategyCase::Outside::kBatch:
      return BatchHandler(
          [this, twist](std::span<const Message* const> messages, std::span<const Attempt>) {
            std::vector<Verdict> verdicts;
            for (const Message* message : messages) {
              try {
                verdicts.push_back(work(*message, nullptr, twist));
              } catch (const PayloadInvalid&) {
                Verdict::Dead invalid;
                invalid.reason = "the payload is not what was expected";
                invalid.code = reason::kPayloadInvalid;
                verdicts.emplace_back(std::move(invalid));
              } catch (const std::exception& thrown) {
                verdicts.push_back(retry(thrown.what()));
              } catch (...) {
                verdicts.push_back(retry("thrown"));
              }
            }
            return verdicts;
          });
    case StrategyCase::Outside::kPlain:
      break;
  }
  return PlainHandler(
      [this, twist](const Message& m, const Attempt&) { return work(m, nullptr, twist); });
}

void StrategySuite::run(strategies::Strategy& strategy,
                        std::vector<core::TrackedDelivery>& deliveries, EndingsSeen& seen) {
  strategy.process(deliveries, seen);
  EXPECT_TRUE(seen.wait(deliveries.size())) << "each delivery ends";
  service_.wait_idle();
  recording_.wait_idle();
}

std::unique_ptr<strategies::Strategy> StrategySuite::strategy(Twist twist) {
  return strategy_on(*store_, std::move(twist));
}

std::unique_ptr<strategies::Strategy> StrategySuite::strategy_on(Store& store, Twist twist) {
  strategies::Context context;
  context.consumer = "payments";
  context.store = &store;
  context.environment = &system_environment();
  context.observer = &observer_;
  context.retry.attempts = kAttempts;
  context.retry.first = milliseconds(5);
  context.retry.longest = milliseconds(20);
  context.claim.lease = lease_;
  context.age_gate = age_gate_;
  context.claim.want_result = true;
  context.handler = handler(twist);
  context.services.completer = completer_.get();
  for (const auto& [name, number] : destinations_) {
    context.destinations.emplace(name, core::Route{number});
  }
  if (copies_to_) context.copies_to = core::Route{*copies_to_};
  const StrategyKind kind = GetParam().kind;
  if (kind == StrategyKind::kPessimisticLock || kind == StrategyKind::kOptimisticLock) {
    context.row_guard = [kind](const Message& m, Transaction& tx) { guard(kind, m, tx); };
  }
  context.already_done = [this](const Message& message) -> Result<bool> {
    return effects(message.key().text) > 0;
  };
  return strategies::make_strategy(GetParam().kind, std::move(context));
}

std::vector<core::TrackedDelivery> StrategySuite::batch(const std::vector<std::string>& keys,
                                                        const std::string& payload) const {
  std::vector<core::TrackedDelivery> all;
  all.reserve(keys.size());
  for (const std::string& key : keys) all.push_back(test::make_delivery(consumer_, key, payload));
  return all;
}

std::vector<std::string> StrategySuite::keys(std::size_t count, const std::string& prefix) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(fmt::format("{}{:03}", prefix, i));
  return all;
}

StrategySuite::Outcomes StrategySuite::settle(EndingsSeen& seen,
                                              std::vector<core::TrackedDelivery*>* later) {
  Outcomes outcomes;
  for (auto& [delivery, outcome] : seen.take()) {
    const bool again = outcome.settle == Outcome::Settle::kLater ||
                       outcome.settle == Outcome::Settle::kRelease ||
                       outcome.settle == Outcome::Settle::kKeep;
    if (delivery->arrival.row && store_->facets().held != nullptr) {
      HeldMessages& held = *inner_->facets().held;
      const RowTag row = *delivery->arrival.row;
      if (again) {
        EXPECT_TRUE(held.release({&row, 1}, milliseconds(0)));
      } else if (outcome.settle == Outcome::Settle::kAck) {
        EXPECT_TRUE(held.remove({&row, 1}));
      }
    } else if (again && later != nullptr) {
      later->push_back(delivery);
    }
    outcomes.emplace(delivery->message.key().text, std::move(outcome));
  }
  return outcomes;
}

StrategySuite::Outcomes StrategySuite::process(strategies::Strategy& strategy,
                                               std::vector<core::TrackedDelivery> deliveries) {
  EndingsSeen seen;
  run(strategy, deliveries, seen);
  auto outcomes = settle(seen, nullptr);
  EXPECT_EQ(outcomes.size(), deliveries.size()) << "each delivery ends once";
  return outcomes;
}

StrategySuite::Outcomes StrategySuite::deliver(strategies::Strategy& strategy,
                                               std::vector<core::TrackedDelivery> deliveries) {
  Outcomes all;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!deliveries.empty()) {
    EndingsSeen seen;
    std::vector<core::TrackedDelivery*> later;
    run(strategy, deliveries, seen);
    all.merge(settle(seen, &later));
    std::vector<core::TrackedDelivery> again;
    for (core::TrackedDelivery* const delivery : later) again.push_back(std::move(*delivery));
    deliveries = std::move(again);
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << deliveries.size() << " deliveries never settled";
      break;
    }
    if (!deliveries.empty()) std::this_thread::sleep_for(milliseconds(5));
  }
  return all;
}

ConsumerNumber StrategySuite::relay() {
  const auto number = inner_->attach({"relay", "test", false, std::nullopt});
  EXPECT_TRUE(number);
  return number.value_or(ConsumerNumber{});
}

std::vector<Arrival> StrategySuite::sent() {
  auto arrivals = inner_->facets().held->take(relay(), 1'000, 1 << 20, std::chrono::seconds(60));
  EXPECT_TRUE(arrivals);
  return arrivals ? *std::move(arrivals) : std::vector<Arrival>();
}

std::size_t StrategySuite::count_sent() { return inner_->facets().held->depth(relay())->rows; }

StrategySuite::Outcomes StrategySuite::deliver_held(strategies::Strategy& strategy) {
  Outcomes all;
  HeldMessages& held = *inner_->facets().held;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const auto depth = held.depth(consumer_);
    EXPECT_TRUE(depth);
    if (!depth || depth->rows == 0) return all;
    auto arrivals = held.take(consumer_, 100, 1 << 20, std::chrono::seconds(60));
    EXPECT_TRUE(arrivals);
    if (!arrivals) return all;
    std::vector<core::TrackedDelivery> deliveries;
    for (Arrival& arrival : *arrivals) {
      auto parts = test::make_parts(consumer_, arrival.key.value_or(""), arrival.payload);
      if (arrival.fingerprint) parts.fingerprint = *arrival.fingerprint;
      deliveries.emplace_back(Message(std::move(parts)), std::move(arrival));
    }
    if (!deliveries.empty()) {
      EndingsSeen seen;
      run(strategy, deliveries, seen);
      all.merge(settle(seen, nullptr));
    } else {
      std::this_thread::sleep_for(milliseconds(2));
    }
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << depth->rows << " rows were never settled";
      return all;
    }
  }
}

int StrategySuite::effects(const std::string& key) {
  if (GetParam().transactional) {
    return static_cast<int>(
        place_->sql(fmt::format("SELECT count(*) FROM effect WHERE name = '{}'", key)));
  }
  const std::scoped_lock lock(mutex_);
  const auto at = outside_.find(key);
  return at == outside_.end() ? 0 : at->second;
}

int StrategySuite::effects() {
  if (GetParam().transactional) {
    return static_cast<int>(place_->sql("SELECT count(*) FROM effect"));
  }
  const std::scoped_lock lock(mutex_);
  int sum = 0;
  for (const auto& [key, times] : outside_) sum += times;
  return sum;
}

int StrategySuite::runs(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  return runs_[key];
}

std::vector<DeadLetter> StrategySuite::dead_letters() {
  auto list = inner_->facets().dead_letters->list({});
  EXPECT_TRUE(list);
  return list ? *std::move(list) : std::vector<DeadLetter>{};
}

std::size_t StrategySuite::count(const Outcomes& outcomes, Outcome::Kind kind) {
  std::size_t n = 0;
  for (const auto& [key, outcome] : outcomes) n += outcome.kind == kind ? 1U : 0U;
  return n;
}

const Outcome& StrategySuite::last(const Outcomes& outcomes, const std::string& key) {
  static const Outcome kNone;
  const auto [first, end] = outcomes.equal_range(key);
  EXPECT_NE(first, end) << key << " did not end";
  return first == end ? kNone : std::prev(end)->second;
}

}  // namespace semel::conformance
