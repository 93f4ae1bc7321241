#include "compose/runner_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

#include "compose/code_config.h"
#include "core/guarantee.h"
#include "core/step_key.h"
#include "system/mutex.h"

namespace semel::compose {

namespace {

// `what`: "handler" or "source".
[[noreturn]] void refuse_unwanted(std::string_view what, std::string_view name) {
  throw SemelError({ErrorKind::kRejected, "E062",
                    fmt::format("no consumer of the config has the {} \"{}\"", what, name),
                    fmt::format("give one {}: {{ native: {} }}", what, name)});
}

// Consumers that name the same source call its factory on threads of their own: one at a time.
SourceFactory one_at_a_time(SourceFactory make) {
  return [make = std::move(make),
          mutex = std::make_shared<system::Mutex>()](const SourceRequest& request) {
    const system::MutexLock lock(*mutex);
    return make(request);
  };
}

const config::NativeHandler* native_handler(const config::ConsumerConfig& consumer) {
  return std::get_if<config::NativeHandler>(&consumer.handler);
}

}  // namespace

void RunnerSetup::add(ConsumerOptions consumer) {
  const auto refuse = [&](const char* why, const char* hint) {
    throw SemelError(
        {ErrorKind::kRejected, "E069", "consumer \"" + consumer.name + "\": " + why, hint});
  };
  if (!from_code) {
    refuse("this runner has those of its config",
           "write it into the config, or make the runner from code");
  }
  if (consumer.apply && !is_there(consumer.handler)) {
    refuse("it has the second part of its work, apply, and no handler in code before it",
           "give ConsumerOptions::handler too, or an apply in the settings");
  }
  if (consumer.key_function && !consumer.key.empty() &&
      std::ranges::find(consumer.key, "function") == consumer.key.end()) {
    refuse("its key_function is none of the places where its key is looked for",
           "add \"function\" to ConsumerOptions::key, or leave one of the two out");
  }
  RunnerSetup next = *this;
  std::ranges::move(values_of(consumer, config.consumers.size()), std::back_inserter(next.values));
  next.config = loaded_or_throw(config::load_values(next.values, config.store));
  const std::string name = next.config.consumers.back().name;
  if (auto* own = std::get_if<FromOwn>(&consumer.source)) next.set_source(name, std::move(*own));
  next.give_traits();
  if (consumer.steps) next.set_steps(name, *std::move(consumer.steps));
  if (is_there(consumer.handler)) {
    next.set_handler(name, std::move(consumer.handler), std::move(consumer.apply));
  }
  if (consumer.key_function) next.set_key(name, std::move(consumer.key_function));
  *this = std::move(next);
}

void RunnerSetup::check_handler(const config::ConsumerConfig& consumer, bool transactional,
                                bool has_apply) const {
  if (!consumer.strategy_named && !has_apply) return;
  const bool has_transactions = config::traits_of(config.store).transactions;
  const auto strategy =
      consumer.strategy_named ? consumer.strategy : core::default_strategy(transactional);
  auto refused =
      core::refuse_combination(strategy, transactional, has_transactions, consumer.unsafe);
  if (!refused && has_apply) {
    refused = core::refuse_two_parts(strategy, transactional, has_transactions);
  }
  if (!refused) return;
  throw SemelError({ErrorKind::kRejected, "E061", "consumer \"" + consumer.name + "\": " + *refused,
                    "name another strategy, or register another kind of handler"});
}

void RunnerSetup::set_handler(std::string_view name, Handler handler, ApplyHandler apply) {
  const bool transactional = std::holds_alternative<TransactionalHandler>(handler);
  bool wanted = false;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    const auto* native = native_handler(consumer);
    if (native == nullptr || native->name != name) continue;
    wanted = true;
    check_handler(consumer, transactional, static_cast<bool>(apply));
  }
  if (!wanted) refuse_unwanted("handler", name);
  options.natives.insert_or_assign(std::string(name),
                                   NativeWork{std::move(handler), std::move(apply)});
}

void RunnerSetup::set_steps(std::string_view name, StepSpecs steps) {
  if (const auto refused = core::refuse_specs(steps)) {
    throw SemelError({ErrorKind::kRejected, "E063",
                      "the steps of handler \"" + std::string(name) + "\": " + *refused,
                      "give each step a name of its own"});
  }
  const bool wanted = std::ranges::any_of(config.consumers, [&](const auto& consumer) {
    const auto* native = native_handler(consumer);
    return native != nullptr && native->name == name;
  });
  if (!wanted) refuse_unwanted("handler", name);
  options.steps.insert_or_assign(std::string(name), std::move(steps));
}

void RunnerSetup::set_source(std::string_view name, FromOwn source) {
  const bool wanted = std::ranges::any_of(config.consumers, [&](const auto& consumer) {
    const auto* native = std::get_if<config::NativeSource>(&consumer.source);
    return native != nullptr && native->name == name;
  });
  if (!wanted) refuse_unwanted("source", name);
  if (!source.make || source.traits.in_store) {
    throw SemelError({ErrorKind::kRejected, "E068",
                      fmt::format("the native source \"{}\" {}", name,
                                  source.make ? "says that its arrivals are rows of the store"
                                              : "has no factory"),
                      "give FromOwn::make, and leave SourceTraits::in_store false"});
  }
  source.make = one_at_a_time(std::move(source.make));
  options.sources.insert_or_assign(std::string(name), std::move(source));
  give_traits();
}

void RunnerSetup::give_traits() {
  for (config::ConsumerConfig& consumer : config.consumers) {
    auto* native = std::get_if<config::NativeSource>(&consumer.source);
    if (native == nullptr) continue;
    const auto known = options.sources.find(native->name);
    if (known != options.sources.end()) native->traits = known->second.traits;
  }
}

void RunnerSetup::set_key(std::string_view consumer, KeyFunction function) {
  if (config.find(consumer) == nullptr) {
    std::vector<std::string_view> known;
    for (const config::ConsumerConfig& one : config.consumers) known.emplace_back(one.name);
    throw SemelError(
        {ErrorKind::kRejected, "E062", fmt::format("the config has no consumer \"{}\"", consumer),
         known.empty() ? "add the consumer before its key"
                       : fmt::format("name one of its consumers: {}", fmt::join(known, ", "))});
  }
  options.keys.insert_or_assign(std::string(consumer), std::move(function));
}

void RunnerSetup::set_traces(SpanSink& sink, double sample) {
  // Not a number is in no range.
  if (!(sample >= 0 && sample <= 1)) {
    throw SemelError({ErrorKind::kRejected, "E015",
                      fmt::format("the part of messages to trace is {}: it is from 0 to 1", sample),
                      "give Runner::trace a sample from 0 to 1"});
  }
  traces = {&sink, sample};
}

}  // namespace semel::compose
