// Runner: sources, workers, retries, dead letters and drain, from a config and the user's handlers.
//
//   auto runner = semel::Runner::from_file("semel.yaml");
//   runner.on("payments", [](const semel::Message& m, semel::Transaction& tx) { … });
//   return runner.run();
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <semel/bytes.h>
#include <semel/delivery.h>
#include <semel/handler.h>
#include <semel/observer.h>
#include <semel/step_spec.h>
#include <semel/trace.h>

namespace semel {

// Finds a message's key where no recipe of the config can; nothing: the message has none.
using KeyFunction = std::function<std::optional<Bytes>(const Arrival&)>;

class Runner {
 public:
  // Reads a config. Throws SemelError whose message holds every error of the file.
  [[nodiscard]] static Runner from_file(const std::string& path);
  [[nodiscard]] static Runner from_text(std::string_view yaml);

  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  // The handler of the consumer whose config says `handler: { native: NAME }`, or has no handler
  // and this name. Throws SemelError when no consumer asks for it, or its strategy cannot have this
  // kind.
  template <class F>
  Runner& on(std::string_view name, F handler) {
    return on_handler(name, make_handler(std::move(handler)));
  }
  // Work in two parts: `call` outside, then `apply` in the transaction that completes the record.
  // The strategy must be state_machine and the store have transactions.
  template <class F, class G>
  Runner& on(std::string_view name, F call, G apply) {
    return on_handler(name, make_handler(std::move(call)), ApplyHandler(std::move(apply)));
  }
  // Which steps that handler has, all of them, and how each is undone when a message is given up: a
  // journal that names another one parks its message. The handler must be one that ends when it
  // returns, and not a transactional one.
  Runner& steps(std::string_view name, StepSpecs steps);
  Runner& on_handler(std::string_view name, Handler handler, ApplyHandler apply = nullptr);
  // The key of a consumer whose config says `key: { from: [function] }`.
  Runner& key(std::string_view consumer, KeyFunction function);
  // Sees all that happens; borrowed until run returns.
  Runner& observe(Observer& observer);
  // Gives the spans of deliveries to `sink`, in place of where the config's `traces:` sends them;
  // borrowed until run returns. A message with a traceparent is traced where that says so; `sample`
  // is the part of the others, from 0 to 1.
  Runner& trace(SpanSink& sink, double sample = 1.0);

  // Stop by itself when every source is at its end, nothing is in flight and no retry is due later.
  Runner& once(bool on = true);

  // Runs until stopped, or SIGTERM or SIGINT, drains, and returns an exit code: 0, 69 the store or
  // a source is unreachable, 70 a transactional handler hung, 77 this user may not use one of them,
  // 78 the config cannot be run.
  [[nodiscard]] int run();
  // Begins the drain; from any thread. A second call hurries it.
  void stop() noexcept;

 private:
  class Impl;
  explicit Runner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
