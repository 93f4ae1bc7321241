// Runner: sources, workers, retries, dead letters and drain, around the user's handlers. From a
// config file:
//
//   auto runner = semel::Runner::from_file("semel.yaml");
//   runner.on("payments", [](const semel::Message& m, semel::Transaction& tx) { … });
//   return runner.run();
//
// or from code:
//
//   semel::Runner runner(semel::SqliteOptions{.path = "bank.db"});
//   runner.add({.name = "payments",
//               .source = semel::FromFile{"payments.jsonl"},
//               .key = {"json:/id"},
//               .handler = [](const semel::Message& m, semel::Transaction& tx) { … }});
//   return runner.run();
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <semel/consumer.h>
#include <semel/error.h>
#include <semel/handler.h>
#include <semel/observer.h>
#include <semel/step_spec.h>
#include <semel/trace.h>

namespace semel {

class Runner {
 public:
  // Reads a config. Throws SemelError whose message holds every error of the file.
  [[nodiscard]] static Runner from_file(const std::string& path);
  [[nodiscard]] static Runner from_text(std::string_view yaml);

  // Consumers are added in code. `settings`: what stands in a config beside store and consumers, as
  // {"drain_timeout", "10s"} or {"admin.listen", "127.0.0.1:8585"}; of the store alone
  // `store.on_unavailable`. The runner decides about `create`, `environment` and `stop_fd` of
  // `store`.
  explicit Runner(RunnerStore store, const ConfigValues& settings = {});

  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  // Adds a consumer to a runner that was made from code. One that others send to (`publish`,
  // `dead_letter.copy_to`) is added before them. Throws SemelError whose message holds all that is
  // wrong with it, in the words of a config; the runner is as it was then.
  Runner& add(ConsumerOptions consumer);

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

  // False: SIGTERM and SIGINT stay the host's, which calls `stop`. By default `run` blocks them in
  // the calling thread and in those that it starts, and stops at either.
  Runner& signals(bool on);
  // False: nothing is written to stderr. By default troubles and notices are, where nobody
  // observes. `error` and the observers say the same.
  Runner& prints(bool on);
  // Called once in a run, in place of the end of the process with exit code 70: a handler holds the
  // store's transaction past its timeout and grace, or does not end in a drain, and cannot be
  // stopped. It may hold the store's only write lock, and what it has in hand is nobody else's: the
  // host should save what is its own and end the process. Until it does, or the handler ends after
  // all, `run` does not return. From a thread of the runner, which must get it back soon: it must
  // not wait for `run`, nor throw.
  Runner& on_hung(std::function<void(std::string_view consumer, const Error& error)> hung);

  // Runs until stopped, or SIGTERM or SIGINT, drains, and returns an exit code: 0, 69 the store or
  // a source is unreachable, 70 a transactional handler hung, 77 this user may not use one of them,
  // 78 the config cannot be run.
  [[nodiscard]] int run();
  // Why the last run did not begin; nothing where it did.
  [[nodiscard]] const std::optional<Error>& error() const noexcept;
  // Begins the drain; from any thread. A second call hurries it.
  void stop() noexcept;

 private:
  class Impl;
  explicit Runner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
