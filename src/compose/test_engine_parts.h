// For tests: the parts of an engine whose only consumer runs under state_machine, of one source and
// the rows that its store holds.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/store.h>

#include "engine/engine.h"
#include "sources/sources.h"
#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::engine {

// All of it is borrowed, and outlives the engine.
struct TestEngine {
  std::string consumer;
  ConsumerNumber number{};
  Store& store;
  Observer& observer;
  system::Mutex& gate;
  LineOf line_of{};
  RetryPolicy retry{};
};

inline EngineParts test_engine_parts(const TestEngine& of, std::unique_ptr<Source> source,
                                     Handler handler) {
  EngineParts parts;
  parts.store = &of.store;
  parts.sources.push_back(std::move(source));
  parts.sources.push_back(sources::make_held_source(*of.store.facets().held, of.number,
                                                    std::chrono::seconds(60), system_environment(),
                                                    of.line_of));
  parts.environment = &system_environment();
  parts.observer = &of.observer;
  parts.suspect_gate = &of.gate;
  parts.hung = [](const std::string& why) { ADD_FAILURE() << why; };
  parts.strategy = parts.give_up_strategy =
      [of, handler = std::move(handler)](const strategies::Services& services) {
        strategies::Context context;
        context.consumer = of.consumer;
        context.store = &of.store;
        context.handler = handler;
        context.retry = of.retry;
        context.environment = &system_environment();
        context.observer = &of.observer;
        context.services = services;
        return strategies::make_strategy(core::StrategyKind::kStateMachine, std::move(context));
      };
  return parts;
}

}  // namespace semel::engine
