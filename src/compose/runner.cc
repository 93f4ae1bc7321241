#include <semel/runner.h>

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "compose/admin.h"
#include "compose/code_config.h"
#include "compose/compose.h"
#include "compose/runner_setup.h"
#include "compose/signals.h"
#include "compose/stopper.h"
#include "compose/traces.h"
#include "system/mutex.h"

namespace semel {

namespace {

// Reports that are printed even if the program sets no observer.
class StderrObserver final : public Observer {
 public:
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override {
    if (mended) {
      fmt::print(stderr, "semel: {}: the {} is back\n", consumer, where);
      return;
    }
    const bool has_code = !error.code.empty();
    fmt::print(stderr, "semel: {}: {}: {}{}\n", consumer, where,
               has_code ? fmt::format("error[{}] ", error.code) : "error: ",
               printable_text(error.message));
    if (!error.hint.empty()) fmt::print(stderr, "  fix: {}\n", printable_text(error.hint));
    if (has_code) fmt::print(stderr, "  explain: semel explain {}\n", error.code);
  }
  void on_notice(std::string_view consumer, std::string_view text) noexcept override {
    fmt::print(stderr, "semel: {}: {}\n", consumer, printable_text(text));
  }
};

// Returns the exit code.
int not_started(const std::vector<Observer*>& observers, std::string_view where,
                const Error& error) {
  for (Observer* observer : observers) observer->on_trouble("start", where, error, false);
  return compose::exit_code_of_run(error);
}

}  // namespace

class Runner::Impl {
 public:
  explicit Impl(config::Config config) { setup_.config = std::move(config); }
  // Throws SemelError for settings that cannot be used.
  Impl(const config::StoreConfig& store, const ConfigValues& settings,
       std::shared_ptr<Store> kept = nullptr)
      : kept_(std::move(kept)) {
    setup_.values = compose::values_of(settings, {});
    setup_.config = compose::loaded_or_throw(config::load_settings(setup_.values, store));
    setup_.from_code = true;
  }

  // Calls `change` with the setup, unless the runner runs (E067).
  template <class Change>
  void set_up(Change change) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    refuse_while_running();
    change(setup_);
  }
  const std::optional<Error>& error() const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    refuse_while_running();
    return error_;
  }

  int run() SEMEL_EXCLUDES(mutex_);
  void stop() noexcept { stopper_.stop(); }

 private:
  // The runner counts as running while this object exists.
  class Running {
   public:
    explicit Running(Impl& impl) : impl_(impl) {}
    ~Running() {
      impl_.stopper_.reset();
      const system::MutexLock lock(impl_.mutex_);
      impl_.runs_ = false;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Impl& impl_;
  };

  void refuse_while_running() const SEMEL_REQUIRES(mutex_) {
    if (!runs_) return;
    throw SemelError({ErrorKind::kRejected, "E067",
                      "the runner is running: set it up before its run",
                      "make this call before run, or after it has returned"});
  }
  compose::RunnerSetup begin() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    refuse_while_running();
    compose::RunnerSetup setup = setup_;
    runs_ = true;
    error_.reset();
    return setup;
  }
  int run_with(compose::RunnerSetup setup) SEMEL_EXCLUDES(mutex_);

  const std::shared_ptr<Store> kept_;  // null: the runner opens its store, or borrows it
  compose::Stopper stopper_;
  mutable system::Mutex mutex_;
  compose::RunnerSetup setup_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> error_;  // written by the run, read when none is active
  bool runs_ SEMEL_GUARDED_BY(mutex_) = false;
};

Runner Runner::from_file(const std::string& path) {
  return Runner(std::make_unique<Impl>(compose::loaded_or_throw(config::load_file(path))));
}

Runner Runner::from_text(std::string_view yaml) {
  return Runner(
      std::make_unique<Impl>(compose::loaded_or_throw(config::load_text(yaml, "config"))));
}

Runner::Runner(RunnerStore store, const ConfigValues& settings)
    : impl_(std::make_unique<Impl>(compose::store_config_of(std::move(store)), settings)) {}

Runner::Runner(Store& store, const ConfigValues& settings)
    : impl_(std::make_unique<Impl>(compose::store_config_of(store), settings)) {}

Runner::Runner(std::shared_ptr<Store> store, const ConfigValues& settings) {
  if (store == nullptr) {
    throw SemelError({ErrorKind::kRejected, "E069", "the runner was given no store",
                      "open one, and look at the Result before it is given away"});
  }
  const auto borrowed = compose::store_config_of(*store);
  impl_ = std::make_unique<Impl>(borrowed, settings, std::move(store));
}

Runner::Runner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

Runner& Runner::add(ConsumerOptions consumer) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.add(std::move(consumer)); });
  return *this;
}

Runner& Runner::on_handler(std::string_view name, Handler handler, ApplyHandler apply) {
  impl_->set_up([&](compose::RunnerSetup& setup) {
    setup.set_handler(name, std::move(handler), std::move(apply));
  });
  return *this;
}

Runner& Runner::steps(std::string_view name, StepSpecs steps) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.set_steps(name, std::move(steps)); });
  return *this;
}

Runner& Runner::source(std::string_view name, FromOwn source) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.set_source(name, std::move(source)); });
  return *this;
}

Runner& Runner::key(std::string_view consumer, KeyFunction function) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.set_key(consumer, std::move(function)); });
  return *this;
}

Runner& Runner::observe(Observer& observer) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.options.observers.push_back(&observer); });
  return *this;
}

Runner& Runner::trace(SpanSink& sink, double sample) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.set_traces(sink, sample); });
  return *this;
}

Runner& Runner::once(bool on) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.options.once = on; });
  return *this;
}

Runner& Runner::signals(bool on) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.takes_signals = on; });
  return *this;
}

Runner& Runner::prints(bool on) {
  impl_->set_up([&](compose::RunnerSetup& setup) { setup.prints = on; });
  return *this;
}

Runner& Runner::on_hung(std::function<void(std::string_view, const Error&)> hung) {
  impl_->set_up(
      [&](compose::RunnerSetup& setup) { setup.options.instead_of_end = std::move(hung); });
  return *this;
}

const std::optional<Error>& Runner::error() const { return impl_->error(); }

int Runner::run() { return impl_->run(); }

int Runner::Impl::run() {
  compose::RunnerSetup setup = begin();
  const Running running(*this);
  return run_with(std::move(setup));
}

int Runner::Impl::run_with(compose::RunnerSetup setup) {
  std::optional<compose::SignalDrain> signals;
  if (setup.takes_signals) signals.emplace([this](int) { stop(); });
  StderrObserver stderr_observer;
  compose::ServiceOptions& options = setup.options;
  if (options.observers.empty() && setup.prints) options.observers.push_back(&stderr_observer);
  const std::vector<Observer*> told = options.observers;
  if (!setup.prints) {
    options.on_hung = [told](std::string_view consumer, const Error& error) {
      for (Observer* observer : told) observer->on_trouble(consumer, "handler", error, false);
    };
  }
  const auto fail = [&](std::string_view where, const Error& error) {
    error_ = error;
    return not_started(told, where, error);
  };
  if (setup.config.consumers.empty()) {
    return fail("config", {ErrorKind::kRejected, "E017", "the runner has no consumer", "add one"});
  }
  auto traces = compose::Traces::open(setup.config, setup.traces, options);
  if (!traces) return fail("traces", traces.error());
  if (*traces) (*traces)->watch(options);
  auto admin = compose::Admin::open(setup.config, options.dry_run);
  if (!admin) return fail("admin listener", admin.error());
  (*admin)->watch(options);
  options.stop_fd = stopper_.stop_fd();
  auto service = compose::Service::build(setup.config, std::move(options));
  if (!service) {
    if (stopper_.was_asked() && service.error().kind == ErrorKind::kUnavailable) return 0;
    return fail("store or source", service.error());
  }
  int code = 0;
  {
    const compose::Stopper::Stopping stopping(stopper_, **service);
    const compose::Admin::Serving serving(**admin, **service);
    code = (*service)->run();
    error_ = (*service)->final_error();
    // Aborts a call to a store that does not answer.
    stopper_.break_off();
  }
  if (*traces) (*traces)->end();
  return code;
}

void Runner::stop() noexcept { impl_->stop(); }

}  // namespace semel
