// Shared by the engine's tests: a store in memory, a topic, and a strategy that a test scripts.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <semel/memory.h>
#include <semel/reason.h>

#include "core/tracked_delivery.h"
#include "engine/engine.h"
#include "system/mutex.h"
#include "tests/support/builders.h"
#include "tests/support/memory_source.h"
#include "tests/support/recording_observer.h"
#include "tests/support/waiting.h"

namespace semel::engine {

using Handlers = strategies::HandlerMonitor::Handlers;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::MemorySource;
using test::MemoryTopic;
using test::payload_with_id;

// Ends each delivery as the test says; the engine does not know that there is no record.
class ScriptedStrategy final : public strategies::Strategy {
 public:
  using Script = std::function<Outcome(core::TrackedDelivery&, std::size_t batch)>;
  ScriptedStrategy(Script script, strategies::HandlerMonitor& monitor)
      : script_(std::move(script)), monitor_(monitor) {}
  void process(std::span<core::TrackedDelivery> batch,
               strategies::OutcomeSink& sink) noexcept override {
    auto watch = monitor_.watch({}, Handlers::kInTurn);
    for (core::TrackedDelivery& delivery : batch) {
      const std::stop_token stop = watch->handler_begins(0);
      Outcome outcome = script_(delivery, batch.size());
      (void)stop;
      watch->handler_ended(0);
      sink.ended(delivery, std::move(outcome));
    }
  }

 private:
  const Script script_;
  strategies::HandlerMonitor& monitor_;
};

inline Outcome ended(Outcome::Kind kind, Outcome::Settle settle = Outcome::Settle::kAck) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.settle = settle;
  return outcome;
}

class EngineTest : public testing::Test {
 protected:
  EngineTest() : store_(make_memory_store()) {
    number_ = store_->attach({"orders", "recipe", false, std::nullopt}).value();
    options_.consumer = "orders";
    options_.number = number_;
    options_.recipe.parts.push_back(core::KeyPart::parse("json:/id").value());
    options_.once = true;
    options_.grace = milliseconds(200);
  }

  std::unique_ptr<Engine> engine(ScriptedStrategy::Script script, bool redelivers = true,
                                 Store* store = nullptr) {
    test::MemorySourceOptions source;
    source.redelivers = redelivers;
    return engine_over(std::make_unique<MemorySource>(topic_, source), std::move(script), store);
  }
  std::unique_ptr<Engine> engine_over(std::unique_ptr<Source> source,
                                      ScriptedStrategy::Script script, Store* store = nullptr) {
    EngineParts parts = parts_over(std::move(source));
    if (store != nullptr) parts.store = store;
    parts.strategy = [script](const strategies::Services& services) {
      return std::make_unique<ScriptedStrategy>(script, *services.monitor);
    };
    return Engine::create(options_, std::move(parts));
  }
  // All parts except a strategy.
  EngineParts parts_over(std::unique_ptr<Source> source) {
    EngineParts parts;
    parts.store = store_.get();
    parts.sources.push_back(std::move(source));
    parts.give_up_strategy = [](const strategies::Services& services) {
      return std::make_unique<ScriptedStrategy>(
          [](core::TrackedDelivery&, std::size_t) {
            Outcome outcome = ended(Outcome::Kind::kDead);
            outcome.reason = reason::kCrash;
            return outcome;
          },
          *services.monitor);
    };
    parts.environment = &system_environment();
    parts.observer = &seen_;
    parts.suspect_gate = &gate_;
    parts.hung = [this](const std::string&) { hung_ = true; };
    return parts;
  }
  // Handles every message of the source.
  Ended run_over(std::unique_ptr<Source> source) {
    return engine_over(std::move(source), [](core::TrackedDelivery&,
                                             std::size_t) { return ended(Outcome::Kind::kDone); })
        ->run();
  }
  void send(std::string_view key, std::size_t n = 0) { topic_.add(payload_with_id(key, n)); }

  std::unique_ptr<Store> store_;
  ConsumerNumber number_{};
  EngineOptions options_;
  MemoryTopic topic_;
  test::RecordingObserver seen_;
  system::Mutex gate_;
  std::atomic<bool> hung_{false};
};

}  // namespace semel::engine
