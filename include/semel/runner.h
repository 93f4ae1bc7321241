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
//
// One thread sets a runner up and runs it; `stop` may be called from any thread. During `run`,
// every other call, and a second `run`, throws SemelError (E067) and changes nothing. A call of a
// handler, an observer, a source or a callback must not wait for `run` to return.
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
#include <semel/spi/store.h>
#include <semel/step_spec.h>
#include <semel/trace.h>

namespace semel {

class Runner {
 public:
  // Reads a config. Throws SemelError whose message lists every error of the file.
  [[nodiscard]] static Runner from_file(const std::string& path);
  [[nodiscard]] static Runner from_text(std::string_view yaml);

  // A runner without consumers, on a store that it opens: `add` adds them. `settings`: the options
  // of a config other than store and consumers, as {"drain_timeout", "10s"} or {"admin.listen",
  // "127.0.0.1:8585"}; of the store only `store.on_unavailable`. The runner sets `create`,
  // `environment` and `stop_fd` of `store`. Throws SemelError whose message lists everything that
  // is wrong with the settings, in the words of a config.
  explicit Runner(RunnerStore store, const ConfigValues& settings = {});
  // The same on a store that the caller has opened, and may use meanwhile, as for a Guard. It is
  // borrowed: it must outlive the runner, is not closed, and keeps its own environment and stop_fd.
  // `stop` cuts a wait for the server short only where the store was given a stop_fd. A store that
  // keeps no messages (a borrowed connection) is refused when `run` begins (E061, R267).
  // `*open_sqlite(…).value()` does not outlive the runner: pass that to the constructor below.
  explicit Runner(Store& store, const ConfigValues& settings = {});
  // The same on a store that the runner owns too: it stays open for as long as the runner lives, or
  // for longer where the caller keeps it. Throws SemelError where there is none (E069).
  explicit Runner(std::shared_ptr<Store> store, const ConfigValues& settings = {});

  // Must not be destroyed, nor moved, while it runs. One that was moved from may only be destroyed
  // or assigned to.
  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  // Adds a consumer to a runner that was made from code. A consumer that others send to (`publish`,
  // `dead_letter.copy_to`) is added before them. Throws SemelError whose message lists everything
  // that is wrong with it, in the words of a config; the runner is then as it was.
  Runner& add(ConsumerOptions consumer);

  // Sets the handler of the consumer whose config has `handler: { native: NAME }`, or has no
  // handler and this name. Throws SemelError where no consumer asks for it (E062), or where its
  // strategy cannot have a handler of this kind (E061).
  template <class F>
  Runner& on(std::string_view name, F handler) {
    return on_handler(name, make_handler(std::move(handler)));
  }
  // A two-part handler: `call` outside, then `apply` in the transaction that completes the record.
  // The strategy must be state_machine, and the store must have transactions.
  template <class F, class G>
  Runner& on(std::string_view name, F call, G apply) {
    return on_handler(name, make_handler(std::move(call)), ApplyHandler(std::move(apply)));
  }
  Runner& on_handler(std::string_view name, Handler handler, ApplyHandler apply = nullptr);
  // Declares all steps of that handler, and how each is undone when a message is given up. A
  // message whose journal names another step is parked. The handler must end when it returns, and
  // take no Transaction. Throws SemelError (E062, E063).
  Runner& steps(std::string_view name, StepSpecs steps);
  // Sets the source of the consumers whose config has `source: { native: NAME }`: each has its own,
  // which the factory makes, one call at a time. Throws SemelError where no consumer asks for it
  // (E062), or where its traits are not allowed (E068).
  Runner& source(std::string_view name, FromOwn source);
  // Sets the key of a consumer whose config has `key: { from: [function] }`. Throws SemelError
  // (E062).
  Runner& key(std::string_view consumer, KeyFunction function);
  // Reports everything that happens to `observer`, borrowed until `run` returns.
  Runner& observe(Observer& observer);
  // Sends the spans of deliveries to `sink` instead of where `traces:` of the config sends them;
  // borrowed until `run` returns. A message with a traceparent is traced if that is sampled;
  // `sample` is the fraction of the others that is traced. Throws SemelError where it is not from 0
  // to 1 (E015).
  Runner& trace(SpanSink& sink, double sample = 1.0);

  // The run ends by itself when every source is at its end, nothing is in flight and no retry is
  // due later.
  Runner& once(bool on = true);

  // False: SIGTERM and SIGINT are left to the host, which calls `stop`. By default they have a
  // handler while `run` goes on, which stops all runners of the process, whichever thread a signal
  // comes to; then the host's own is back. They are blocked in the calling thread and in those that
  // `run` starts; a call of another thread may be interrupted (EINTR).
  Runner& signals(bool on);
  // False: nothing is written to stderr. By default troubles and notices are written there when no
  // observer is set. `error` and the observers report the same.
  Runner& prints(bool on);
  // Called once in a run when a handler holds the store's transaction past its timeout and ten more
  // seconds, the grace, or does not end in a drain; without it the process ends then, with exit
  // code 70. Such a handler cannot be stopped, may hold the store's only write lock, and keeps its
  // messages from every other process: the host should save its own state and end the process.
  // Until it does, or the handler ends after all, `run` does not return. Called from a thread of
  // the runner: it must return soon. Must not throw.
  Runner& on_hung(std::function<void(std::string_view consumer, const Error& error)> hung);

  // Runs until `stop`, SIGTERM or SIGINT, drains, and returns an exit code: 0; 1: with `once`, a
  // consumer is paused, so that the run cannot end; 69: the store or a source is unreachable; 70: a
  // handler hung; 77: this user may not use one of them; 78: the config cannot be
  // run, or a source has an error that no later start mends, as kRejected of one of your own.
  // Errors are returned so too; it throws std::bad_alloc and std::system_error (no thread left),
  // and SemelError where the runner runs already.
  [[nodiscard]] int run();
  // Why the last run did not begin, or the error of a source that ended it, or of a key under
  // `missing: fail`; else nullopt.
  [[nodiscard]] const std::optional<Error>& error() const;
  // Begins the drain of the run, or of the next run where none is running; a second call hurries
  // it. Returns immediately, and never waits for the run: it may be called from any thread, also by
  // a handler, an observer, a source or a callback of this runner. Not from a signal handler.
  void stop() noexcept;

 private:
  class Impl;
  explicit Runner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
