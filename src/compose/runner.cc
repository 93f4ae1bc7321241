#include <semel/runner.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include <semel/guarantee.h>

#include "base/printable.h"
#include "compose/admin.h"
#include "compose/code_config.h"
#include "compose/compose.h"
#include "compose/signals.h"
#include "compose/traces.h"
#include "config/catalog.h"
#include "core/step_key.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel {

namespace {

[[noreturn]] void refuse_unwanted(std::string_view name) {
  throw SemelError({ErrorKind::kRejected, "E062",
                    "no consumer of the config has the handler \"" + std::string(name) + "\"",
                    "give one handler: { native: " + std::string(name) + " }"});
}

constexpr int kExitBad = 1;
constexpr int kExitConfig = 78;

// What a program that observes nothing must be told all the same.
class Complaints final : public Observer {
 public:
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override {
    if (mended) {
      fmt::print(stderr, "semel: {}: the {} is back\n", consumer, where);
      return;
    }
    fmt::print(stderr, "semel: {}: {}: {}\n", consumer, where, printable_text(error.message));
    if (!error.hint.empty()) fmt::print(stderr, "  fix: {}\n", printable_text(error.hint));
  }
  void on_notice(std::string_view consumer, std::string_view text) noexcept override {
    fmt::print(stderr, "semel: {}: {}\n", consumer, printable_text(text));
  }
};

// Returns the exit code.
int not_started(const std::vector<Observer*>& observers, std::string_view where,
                const Error& error) {
  for (Observer* observer : observers) observer->on_trouble("start", where, error, false);
  const int code = config::exit_code_of(error);
  // Whatever else is rejected while building comes from the config.
  return code == kExitBad ? kExitConfig : code;
}

}  // namespace

class Runner::Impl {
 public:
  explicit Impl(config::Config c) : config(std::move(c)) {}
  Impl(RunnerStore store, const ConfigValues& settings)
      : values(compose::values_of(settings, {})), from_code(true) {
    config.store = compose::store_config_of(std::move(store));
  }

  bool was_stopped() SEMEL_EXCLUDES(mutex) {
    const system::MutexLock lock(mutex);
    return stops > 0;
  }

  config::Config config;
  std::vector<std::string> values;  // from code: what the config was made of
  bool from_code = false;
  compose::ServiceOptions options;
  compose::OwnTraces traces;
  bool takes_signals = true;
  bool prints = true;
  std::optional<Error> error;
  system::EventFd stopped;
  system::Mutex mutex;
  compose::Service* running SEMEL_GUARDED_BY(mutex) = nullptr;
  int stops SEMEL_GUARDED_BY(mutex) = 0;
};

Runner Runner::from_file(const std::string& path) {
  return Runner(std::make_unique<Impl>(compose::loaded_or_throw(config::load_file(path))));
}

Runner Runner::from_text(std::string_view yaml) {
  return Runner(
      std::make_unique<Impl>(compose::loaded_or_throw(config::load_text(yaml, "config"))));
}

Runner::Runner(RunnerStore store, const ConfigValues& settings)
    : impl_(std::make_unique<Impl>(std::move(store), settings)) {}

Runner& Runner::add(ConsumerOptions consumer) {
  if (!impl_->from_code) {
    throw SemelError({ErrorKind::kRejected,
                      {},
                      "consumer \"" + consumer.name + "\": this runner has those of its config",
                      "write it into the config, or make the runner from code"});
  }
  const auto refuse = [&](const char* why, const char* hint) {
    throw SemelError(
        {ErrorKind::kRejected, {}, "consumer \"" + consumer.name + "\": " + why, hint});
  };
  if (consumer.apply && !compose::is_there(consumer.handler)) {
    refuse("it has the second part of its work, apply, and no handler in code before it",
           "give ConsumerOptions::handler too, or an apply in the settings");
  }
  if (consumer.key_function && !consumer.key.empty() &&
      std::ranges::find(consumer.key, "function") == consumer.key.end()) {
    refuse("its key_function is none of the places where its key is looked for",
           "add \"function\" to ConsumerOptions::key, or leave one of the two out");
  }
  std::vector<std::string> values = impl_->values;
  std::ranges::move(compose::values_of(consumer, impl_->config.consumers.size()),
                    std::back_inserter(values));
  config::Config before = std::exchange(
      impl_->config, compose::loaded_or_throw(config::load_values(values, impl_->config.store)));
  const std::string name = impl_->config.consumers.back().name;
  try {
    if (consumer.steps) steps(name, *std::move(consumer.steps));
    if (compose::is_there(consumer.handler)) {
      on_handler(name, std::move(consumer.handler), std::move(consumer.apply));
    }
    if (consumer.key_function) key(name, std::move(consumer.key_function));
  } catch (...) {
    impl_->config = std::move(before);
    impl_->options.steps.erase(name);
    impl_->options.natives.erase(name);
    throw;
  }
  impl_->values = std::move(values);
  return *this;
}

Runner::Runner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

Runner& Runner::on_handler(std::string_view name, Handler handler, ApplyHandler apply) {
  const bool transactional = std::holds_alternative<TransactionalHandler>(handler);
  bool wanted = false;
  for (const config::ConsumerConfig& consumer : impl_->config.consumers) {
    const auto* native = std::get_if<config::NativeHandler>(&consumer.handler);
    if (native == nullptr || native->name != name) continue;
    wanted = true;
    if (!consumer.strategy_named && !apply) continue;
    const bool has_transactions = config::traits_of(impl_->config.store).transactions;
    const auto strategy =
        consumer.strategy_named ? consumer.strategy : core::default_strategy(transactional);
    auto refused =
        core::refuse_combination(strategy, transactional, has_transactions, consumer.unsafe);
    if (!refused && apply)
      refused = core::refuse_two_parts(strategy, transactional, has_transactions);
    if (refused) {
      throw SemelError({ErrorKind::kRejected, "E061",
                        "consumer \"" + consumer.name + "\": " + *refused,
                        "name another strategy, or register another kind of handler"});
    }
  }
  if (!wanted) refuse_unwanted(name);
  impl_->options.natives.insert_or_assign(
      std::string(name), compose::NativeWork{std::move(handler), std::move(apply)});
  return *this;
}

Runner& Runner::steps(std::string_view name, StepSpecs steps) {
  if (const auto refused = core::refuse_specs(steps)) {
    throw SemelError({ErrorKind::kRejected, "E063",
                      "the steps of handler \"" + std::string(name) + "\": " + *refused,
                      "give each step a name of its own"});
  }
  const bool wanted = std::ranges::any_of(impl_->config.consumers, [&](const auto& consumer) {
    const auto* native = std::get_if<config::NativeHandler>(&consumer.handler);
    return native != nullptr && native->name == name;
  });
  if (!wanted) refuse_unwanted(name);
  impl_->options.steps.insert_or_assign(std::string(name), std::move(steps));
  return *this;
}

Runner& Runner::key(std::string_view consumer, KeyFunction function) {
  if (impl_->config.find(consumer) == nullptr) {
    throw SemelError({ErrorKind::kRejected,
                      "E062",
                      "the config has no consumer \"" + std::string(consumer) + "\"",
                      {}});
  }
  impl_->options.keys.insert_or_assign(std::string(consumer), std::move(function));
  return *this;
}

Runner& Runner::observe(Observer& observer) {
  impl_->options.observers.push_back(&observer);
  return *this;
}

Runner& Runner::trace(SpanSink& sink, double sample) {
  impl_->traces = {&sink, sample};
  return *this;
}

Runner& Runner::once(bool on) {
  impl_->options.once = on;
  return *this;
}

Runner& Runner::signals(bool on) {
  impl_->takes_signals = on;
  return *this;
}

Runner& Runner::prints(bool on) {
  impl_->prints = on;
  return *this;
}

Runner& Runner::on_hung(std::function<void(std::string_view, const Error&)> hung) {
  impl_->options.instead_of_end = std::move(hung);
  return *this;
}

const std::optional<Error>& Runner::error() const noexcept { return impl_->error; }

int Runner::run() {
  std::optional<compose::SignalDrain> signals;
  if (impl_->takes_signals) signals.emplace([this](int) { stop(); });
  Complaints complaints;
  compose::ServiceOptions options = impl_->options;
  if (options.observers.empty() && impl_->prints) options.observers.push_back(&complaints);
  const std::vector<Observer*> told = options.observers;
  if (!impl_->prints) {
    options.on_hung = [told](std::string_view consumer, const Error& error) {
      for (Observer* observer : told) observer->on_trouble(consumer, "handler", error, false);
    };
  }
  impl_->error.reset();
  if (impl_->config.consumers.empty()) {
    impl_->error = Error{ErrorKind::kRejected, "E017", "the runner has no consumer", "add one"};
    return not_started(told, "config", *impl_->error);
  }
  auto traces = compose::Traces::open(impl_->config, impl_->traces, options);
  if (!traces) {
    impl_->error = traces.error();
    return not_started(told, "traces", traces.error());
  }
  if (*traces) (*traces)->watch(options);
  auto admin = compose::Admin::open(impl_->config, options.dry_run);
  if (!admin) {
    impl_->error = admin.error();
    return not_started(told, "admin listener", admin.error());
  }
  (*admin)->watch(options);
  options.stop_fd = impl_->stopped.get();
  auto service = compose::Service::build(impl_->config, std::move(options));
  if (!service) {
    const Error& error = service.error();
    if (impl_->was_stopped() && error.kind == ErrorKind::kUnavailable) return 0;
    impl_->error = error;
    return not_started(told, "store or source", error);
  }
  {
    const system::MutexLock lock(impl_->mutex);
    impl_->running = service->get();
    for (int i = 0; i < impl_->stops; ++i) impl_->running->stop();
  }
  int code = 0;
  {
    const compose::Admin::Serving serving(**admin, **service);
    code = (*service)->run();
    // A question to a store that does not answer is broken off.
    impl_->stopped.signal();
  }
  if (*traces) (*traces)->end();
  if (!impl_->was_stopped()) impl_->stopped.drain();
  const system::MutexLock lock(impl_->mutex);
  impl_->running = nullptr;
  return code;
}

void Runner::stop() noexcept {
  const system::MutexLock lock(impl_->mutex);
  ++impl_->stops;
  impl_->stopped.signal();
  if (impl_->running != nullptr) impl_->running->stop();
}

}  // namespace semel
