#include <semel/testing/deliver.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include <semel/admin/records.h>
#include <semel/memory.h>

#include "testing/explorer.h"

namespace semel::testkit {

namespace {

[[noreturn]] void refuse_delivery(std::string message, std::string hint) {
  throw SemelError({ErrorKind::kRejected, {}, std::move(message), std::move(hint)});
}

bool needs_more_than_a_handler(core::StrategyKind strategy) {
  return strategy == core::StrategyKind::kQuery ||
         strategy == core::StrategyKind::kPessimisticLock ||
         strategy == core::StrategyKind::kOptimisticLock;
}

core::StrategyKind strategy_of(const Handler& handler, const DeliverOptions& options) {
  const bool transactional = std::holds_alternative<TransactionalHandler>(handler);
  if (options.strategy.empty()) return core::default_strategy(transactional);
  const auto named = core::strategy_from(options.strategy);
  if (!named) {
    refuse_delivery(fmt::format("there is no strategy \"{}\"", options.strategy),
                    "leave DeliverOptions::strategy out, or name one that a config may name");
  }
  if (needs_more_than_a_handler(*named)) {
    refuse_delivery(fmt::format("strategy {} needs more than a handler", options.strategy),
                    "test it by a config and a run");
  }
  return *named;
}

void check_handler(const Handler& handler, const DeliverOptions& options) {
  if (std::holds_alternative<AsyncHandler>(handler)) {
    refuse_delivery("an asynchronous handler ends on a thread that no schedule has in hand",
                    "test the work itself, as a handler that ends when it returns");
  }
  const bool transactional = std::holds_alternative<TransactionalHandler>(handler);
  if ((transactional || options.apply) && options.store == nullptr) {
    refuse_delivery("a handler that takes a Transaction needs a store with tables",
                    "make a TestStore, and give it as DeliverOptions::store");
  }
  if (!options.rows.empty() && options.store == nullptr) {
    refuse_delivery("DeliverOptions::rows are queries of DeliverOptions::store, which is not there",
                    "make a TestStore, and give it as DeliverOptions::store");
  }
  if (options.guard) {
    if (std::holds_alternative<BatchHandler>(handler)) {
      refuse_delivery("a Guard has no work for a whole batch",
                      "give a handler of one message; run_batch calls it for each");
    }
    return;
  }
  const bool has_transactions = options.store != nullptr;
  auto refused = core::refuse_combination(strategy_of(handler, options), transactional,
                                          has_transactions, true);
  if (!refused && options.apply) {
    refused =
        core::refuse_two_parts(strategy_of(handler, options), transactional, has_transactions);
  }
  if (refused) refuse_delivery(*std::move(refused), "name another strategy");
}

void check_messages(const std::vector<TestMessage>& messages) {
  if (messages.empty()) refuse_delivery("there is no message to deliver", "give at least one");
  for (const TestMessage& message : messages) {
    if (message.key.empty()) refuse_delivery("a message has no key", "give each of them one");
  }
}

void check_outside(const std::vector<Outside*>& outside) {
  if (std::ranges::find(outside, nullptr) == outside.end()) return;
  refuse_delivery("DeliverOptions::outside has a null pointer",
                  "give the addresses of the Outsides that the handler calls");
}

// The first series whose names no earlier call has used on this store.
std::size_t unused_series(Store& store) {
  for (std::size_t series = 1;; ++series) {
    const auto known = store.facets().records->consumer(first_consumer_of(series));
    if (!known) throw SemelError(known.error());
    if (!*known) return series;
  }
}

}  // namespace

Report deliver_to(Handler handler, std::vector<TestMessage> messages, DeliverOptions options) {
  check_handler(handler, options);
  check_messages(messages);
  check_outside(options.outside);
  // Declared before the objects that use it.
  FakeEnvironment own(options.seed);
  std::unique_ptr<Store> memory;
  Subject subject;
  if (options.store != nullptr) {
    subject.store = &options.store->store();
    subject.environment = &options.store->environment();
  } else {
    memory = make_memory_store({.environment = &own.get()});
    subject.store = memory.get();
    subject.environment = &own;
  }
  subject.series = unused_series(*subject.store);
  if (!options.guard) subject.strategy = strategy_of(handler, options);
  subject.handler = std::move(handler);
  subject.messages = std::move(messages);
  subject.options = std::move(options);
  return Explorer(subject).explore();
}

}  // namespace semel::testkit
