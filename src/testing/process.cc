#include "testing/process.h"

#include <exception>
#include <utility>
#include <variant>

#include <semel/environment.h>
#include <semel/observer.h>

#include "base/overloaded.h"
#include "core/failpoints.h"
#include "guard/guard_access.h"
#include "strategies/strategies.h"
#include "testing/crash_store.h"
#include "testing/handler_life.h"

namespace semel::testkit {

namespace {

// The delay before a message is delivered again after its guard failed or threw.
constexpr std::chrono::milliseconds kAfterFailure{100};

class CollectingSink final : public strategies::OutcomeSink {
 public:
  explicit CollectingSink(std::span<const core::TrackedDelivery> batch)
      : batch_(batch), outcomes_(batch.size()) {}
  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
    outcomes_[static_cast<std::size_t>(&delivery - batch_.data())] = std::move(outcome);
  }
  std::vector<Outcome> take() { return std::move(outcomes_); }

 private:
  const std::span<const core::TrackedDelivery> batch_;
  std::vector<Outcome> outcomes_;
};

Outcome again_later(std::string error) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kRetry;
  outcome.settle = Outcome::Settle::kLater;
  outcome.delay = kAfterFailure;
  outcome.error = std::move(error);
  return outcome;
}

}  // namespace

Process::Process(const Subject& subject, const RunNames& names, Fate& fate, Broker::Member member)
    : subject_(subject),
      fate_(fate),
      member_(member),
      store_(make_crash_store(*subject.store, *this)),
      handler_(watched(subject.handler)) {
  if (!subject.options.guard) {
    strategy_ = made_strategy(names);
    return;
  }
  GuardOptions options = *subject.options.guard;
  options.consumer = names.consumer;
  options.receivers = names.receivers;
  options.environment = &subject.environment->get();
  guard_ = GuardAccess::without_renewal(*store_, std::move(options));
}

Process::~Process() = default;

bool Process::pass(std::string_view point) {
  if (!over_) fate_.at(*this, point);
  return !over_;
}

// Makes one call of the handler.
template <class Call>
auto Process::live(Call&& call) -> decltype(call()) {
  if (!pass(failpoint::kHandlerBefore)) throw Ended{};
  auto answer = [&] {
    const HandlerLife mine(*this);
    return call();
  }();
  if (!pass(failpoint::kHandlerAfter)) throw Ended{};
  return answer;
}

Handler Process::watched(const Handler& handler) {
  return std::visit(
      Overloaded{
          [this](const PlainHandler& plain) -> Handler {
            return PlainHandler([this, &plain](const Message& message, const Attempt& attempt) {
              return live([&] { return plain(message, attempt); });
            });
          },
          [this](const TransactionalHandler& work) -> Handler {
            return TransactionalHandler([this, &work](const Message& message, Transaction& tx) {
              return live([&] { return work(message, tx); });
            });
          },
          [this](const BatchHandler& work) -> Handler {
            return BatchHandler([this, &work](std::span<const Message* const> messages,
                                              std::span<const Attempt> attempts) {
              return live([&] { return work(messages, attempts); });
            });
          },
          [](const AsyncHandler& refused) -> Handler { return refused; }},
      handler);
}

std::unique_ptr<strategies::Strategy> Process::made_strategy(const RunNames& names) {
  const DeliverOptions& options = subject_.options;
  strategies::Context context;
  context.consumer = names.consumer;
  context.store = store_.get();
  context.handler = handler_;
  if (options.apply) {
    context.apply = [this](const Message& message, const Bytes& answer, Transaction& tx) {
      return live([&] { return subject_.options.apply(message, answer, tx); });
    };
  }
  context.retry = options.retry;
  context.claim.lease = options.lease;
  context.environment = &subject_.environment->get();
  context.observer = &unobserved_;
  for (const auto& [name, number] : names.receivers) {
    context.destinations.emplace(name, core::Route{number});
  }
  context.steps = options.steps;
  return strategies::make_strategy(subject_.strategy, std::move(context));
}

std::vector<Outcome> Process::handle(std::span<core::TrackedDelivery> batch) {
  return guard_ ? by_guard(batch) : by_strategy(batch);
}

std::vector<Outcome> Process::by_strategy(std::span<core::TrackedDelivery> batch) {
  CollectingSink sink(batch);
  strategy_->process(batch, sink);
  return sink.take();
}

Outcome Process::answer_of(const Result<Outcome>& answer) const {
  if (!answer) return again_later(answer.error().message);
  Outcome outcome = *answer;
  // The loop around a guard keeps such a message elsewhere.
  if (outcome.given_up()) outcome.settle = Outcome::Settle::kAck;
  return outcome;
}

Outcome Process::by_guard_alone(const Message& message) {
  const auto run = [&](auto&& work) {
    return answer_of(guard_->run_once(message.key().text, message.fingerprint(), work));
  };
  try {
    if (const auto* plain = std::get_if<PlainHandler>(&handler_)) {
      return run([&](const Attempt& attempt) { return (*plain)(message, attempt); });
    }
    return run(
        [&](Transaction& tx) { return std::get<TransactionalHandler>(handler_)(message, tx); });
  } catch (const std::exception& thrown) {
    return again_later(thrown.what());
  } catch (...) {
    return again_later("it threw what is no std::exception");
  }
}

std::vector<Outcome> Process::by_guard(std::span<core::TrackedDelivery> batch) {
  if (batch.size() == 1) return {by_guard_alone(batch.front().message)};
  std::vector<BatchMessage> messages;
  messages.reserve(batch.size());
  for (const core::TrackedDelivery& one : batch) {
    messages.push_back({one.message.key().text, one.message.fingerprint()});
  }
  const auto answers = [&] {
    if (const auto* plain = std::get_if<PlainHandler>(&handler_)) {
      return guard_->run_batch(messages, [&](std::size_t i, const Attempt& attempt) {
        return (*plain)(batch[i].message, attempt);
      });
    }
    return guard_->run_batch(messages, [&](std::size_t i, Transaction& tx) {
      return std::get<TransactionalHandler>(handler_)(batch[i].message, tx);
    });
  }();
  std::vector<Outcome> outcomes;
  outcomes.reserve(answers.size());
  for (const auto& answer : answers) outcomes.push_back(answer_of(answer));
  return outcomes;
}

}  // namespace semel::testkit
