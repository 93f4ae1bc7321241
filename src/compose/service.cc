#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "base/printable.h"
#include "compose/compose.h"
#include "compose/consumer_parts.h"
#include "compose/end_hung.h"
#include "compose/fan_out.h"
#include "compose/housekeeper.h"
#include "compose/letter_turns.h"
#include "compose/live.h"
#include "compose/outbox.h"
#include "compose/reload_check.h"
#include "compose/running_consumer.h"
#include "engine/engine.h"
#include "system/mutex.h"
#include "traces/traced_store.h"

namespace semel::compose {

namespace {

// The run cannot end, because a consumer is paused.
constexpr int kExitPaused = 1;
// The component that is reported as unavailable while an engine cannot be made.
constexpr std::string_view kStartComponent = "start";

Error not_by_itself(const char* code, const char* what) {
  return {ErrorKind::kRejected, code, fmt::format("a run with --once {}", what),
          "it ends by itself: start another one"};
}

class RunningService final : public Service {
 public:
  using SharedConfig = RunningConsumer::SharedConfig;

  RunningService(std::unique_ptr<Store> store, SharedConfig config, ServiceOptions options)
      : store_(std::move(store)),
        options_(std::move(options)),
        observer_(options_.observers),
        letters_(*store_, observer_, [this] { return options_.dry_run ? nullptr : current(); }),
        config_(std::move(config)) {}

  Result<void> look(const config::Config& config);
  Result<void> add_all() SEMEL_EXCLUDES(mutex_);
  // Call it after add_all(): it looks the consumers up in the store. A dry run removes nothing.
  Result<void> look_for_letters() { return letters_.look(); }

  int run() override SEMEL_EXCLUDES(mutex_);
  std::optional<Error> final_error() const override SEMEL_EXCLUDES(mutex_);
  const std::vector<std::string>& risks() const noexcept override { return risks_; }
  std::vector<Figures> figures() override SEMEL_EXCLUDES(mutex_);
  std::vector<std::pair<std::string, std::size_t>> in_flight() const override
      SEMEL_EXCLUDES(mutex_);
  void stop() noexcept override SEMEL_EXCLUDES(mutex_);
  bool is_stopping() const noexcept override { return stopping_.load(); }
  Store& store() noexcept override { return *store_; }
  Result<std::optional<StoreSnapshot>> look_at_store() override { return look_at(*store_); }
  std::vector<std::pair<std::string, Phase>> phases() const override SEMEL_EXCLUDES(mutex_);
  Result<bool> drain(std::string_view consumer) override SEMEL_EXCLUDES(mutex_);
  Result<bool> resume(std::string_view consumer) override SEMEL_EXCLUDES(mutex_);
  Result<void> check(const config::Config& next, const config::Difference& difference) override;
  bool take(SharedConfig next, const config::Difference& difference) override
      SEMEL_EXCLUDES(mutex_);
  std::vector<std::string> unsettled() const override SEMEL_EXCLUDES(mutex_);

 private:
  struct Slot {
    std::unique_ptr<RunningConsumer> consumer;
    std::thread thread;
    bool removed = false;
    bool ended = false;  // its thread has nothing left to do
  };

  std::unique_ptr<RunningConsumer> make_consumer(const std::string& name, SharedConfig config,
                                                 std::size_t suspects_first);
  Result<std::unique_ptr<engine::Engine>> make_engine(const config::Config& config,
                                                      const std::string& name,
                                                      RunningConsumer::Carried carried);
  std::function<bool()> upstream_active(const config::Config& config,
                                        const config::ConsumerConfig& consumer);
  void tell(const ConsumerParts& parts, const config::ConsumerConfig& consumer);
  SharedConfig current() const SEMEL_EXCLUDES(mutex_);
  Slot* find(std::string_view consumer) SEMEL_REQUIRES(mutex_);
  Result<Slot*> found(std::string_view consumer) SEMEL_REQUIRES(mutex_);
  std::size_t take_suspects(const std::string& consumer) SEMEL_REQUIRES(mutex_);
  bool may_begin(const std::string& consumer, const config::Config& next) const
      SEMEL_EXCLUDES(mutex_);
  LeavingPorts leaving_ports(const config::Difference& difference) const SEMEL_EXCLUDES(mutex_);
  void phase_changed() const SEMEL_EXCLUDES(mutex_);
  void begin(Slot& slot) SEMEL_REQUIRES(mutex_);
  void serve(Slot& slot) SEMEL_EXCLUDES(mutex_);
  void take_one(SharedConfig next, const config::ConsumerChange& change) SEMEL_REQUIRES(mutex_);
  std::list<Slot> take_gone() SEMEL_REQUIRES(mutex_);
  void join_gone(std::list<Slot> gone) SEMEL_EXCLUDES(mutex_);
  void nudge_all() const SEMEL_EXCLUDES(mutex_);
  int exit_code() SEMEL_EXCLUDES(mutex_);

  std::unique_ptr<Store> store_;
  ServiceOptions options_;
  FanOut observer_;
  system::Mutex suspect_gate_;
  std::vector<std::string> risks_;
  LetterTurns letters_;  // of the housekeeper's thread
  std::atomic<bool> stopping_{false};
  std::atomic<bool> hung_told_{false};
  mutable system::Mutex mutex_;
  system::CondVar changed_;
  SharedConfig config_ SEMEL_GUARDED_BY(mutex_);
  std::list<Slot> slots_ SEMEL_GUARDED_BY(mutex_);             // in the order of the first config
  std::vector<std::string> leaving_ SEMEL_GUARDED_BY(mutex_);  // removed, and ended just now
  // By consumer: the number of suspects that a removed consumer has left untried.
  std::map<std::string, std::size_t> suspects_ SEMEL_GUARDED_BY(mutex_);
  bool begun_ SEMEL_GUARDED_BY(mutex_) = false;
  bool over_ SEMEL_GUARDED_BY(mutex_) = false;
};

Result<void> RunningService::look(const config::Config& config) {
  const auto live = look_live(*store_, config);
  if (!live) return failure(live.error());
  risks_ = risks_of(*live);
  return refuse_missing(*live);
}

// With `once`: tells whether a consumer that may send to this one still runs.
std::function<bool()> RunningService::upstream_active(const config::Config& config,
                                                      const config::ConsumerConfig& consumer) {
  if (!options_.once) return {};
  std::vector<std::string> feeders;
  for (const config::ConsumerConfig& other : config.consumers) {
    if (feeds(config, other, consumer)) feeders.push_back(other.name);
  }
  return [this, feeders] {
    const system::MutexLock lock(mutex_);
    return std::ranges::any_of(slots_, [&](const Slot& slot) {
      return !slot.ended && std::ranges::find(feeders, slot.consumer->name()) != feeders.end();
    });
  };
}

void RunningService::tell(const ConsumerParts& parts, const config::ConsumerConfig& consumer) {
  ConsumerInfo info{consumer.name, {}, config::handler_name(consumer), parts.options.retention.ttl};
  for (const auto& source : parts.parts.sources) {
    info.sources.emplace_back(source->traits().name);
  }
  observer_.on_consumer(info);
}

Result<std::unique_ptr<engine::Engine>> RunningService::make_engine(
    const config::Config& config, const std::string& name, RunningConsumer::Carried carried) {
  const config::ConsumerConfig& consumer = *config.find(name);
  ConsumerBuild build;
  build.config = &config;
  build.consumer = &consumer;
  build.store = store_.get();
  build.options = &options_;
  build.observer = &observer_;
  auto parts = make_consumer_parts(build);
  if (!parts) return failure(std::move(parts.error()));
  parts->options.suspects_first = carried.suspects_first;
  parts->parts.suspect_gate = &suspect_gate_;
  parts->parts.upstream_active = upstream_active(config, consumer);
  parts->parts.process_goes_on = std::move(carried.process_goes_on);
  parts->parts.hung = [this, name](const std::string& what) {
    if (options_.instead_of_end) {
      if (!hung_told_.exchange(true)) options_.instead_of_end(name, hung_error(what));
      return;
    }
    // Neither destructors nor the drain may run: the handler still uses what they would destroy.
    end_hung(name, what, options_.on_hung);
  };
  tell(*parts, consumer);
  // The expiry of dead letters goes by consumer numbers, and this one may be new: look again.
  letters_.change();
  return engine::Engine::create(std::move(parts->options), std::move(parts->parts));
}

std::unique_ptr<RunningConsumer> RunningService::make_consumer(const std::string& name,
                                                               SharedConfig config,
                                                               std::size_t suspects_first) {
  RunningConsumer::Options options;
  options.name = name;
  options.suspects_first = suspects_first;
  options.may_begin = [this, name](const config::Config& next) { return may_begin(name, next); };
  options.make = [this, name](const config::Config& wanted, RunningConsumer::Carried carried) {
    return make_engine(wanted, name, std::move(carried));
  };
  options.changed = [this] { phase_changed(); };
  options.trouble = [this, name](const Error& error, bool mended) {
    observer_.on_trouble(name, kStartComponent, error, mended);
  };
  return std::make_unique<RunningConsumer>(std::move(options), std::move(config));
}

Result<void> RunningService::add_all() {
  const SharedConfig config = current();
  for (const config::ConsumerConfig& consumer : config->consumers) {
    auto made = make_consumer(consumer.name, config, 0);
    if (auto first = made->make_first(); !first) return first;
    const system::MutexLock lock(mutex_);
    slots_.push_back({std::move(made), {}});
  }
  return {};
}

RunningService::SharedConfig RunningService::current() const {
  const system::MutexLock lock(mutex_);
  return config_;
}

RunningService::Slot* RunningService::find(std::string_view consumer) {
  const auto at = std::ranges::find_if(
      slots_, [&](const Slot& slot) { return !slot.removed && slot.consumer->name() == consumer; });
  return at == slots_.end() ? nullptr : &*at;
}

Result<RunningService::Slot*> RunningService::found(std::string_view consumer) {
  if (Slot* const slot = find(consumer)) return slot;
  return failure({ErrorKind::kRejected, "R343",
                  fmt::format("there is no consumer \"{}\"", printable_text(consumer)),
                  "GET /api/v1/consumers names those of the run"});
}

std::vector<Service::Figures> RunningService::figures() {
  std::vector<Figures> all;
  const system::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    for (auto& one : slot.consumer->figures()) {
      all.push_back(
          {slot.consumer->name(), std::string(one.source), std::move(one.figures), one.tells_lag});
    }
  }
  return all;
}

std::vector<std::pair<std::string, std::size_t>> RunningService::in_flight() const {
  std::vector<std::pair<std::string, std::size_t>> all;
  const system::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    all.emplace_back(slot.consumer->name(), slot.consumer->in_flight());
  }
  return all;
}

std::vector<std::pair<std::string, Service::Phase>> RunningService::phases() const {
  std::vector<std::pair<std::string, Phase>> all;
  const system::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    all.emplace_back(slot.consumer->name(), slot.consumer->phase());
  }
  return all;
}

void RunningService::stop() noexcept {
  stopping_ = true;
  const system::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) slot.consumer->stop();
  changed_.notify_all();
}

void RunningService::nudge_all() const {
  const system::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) slot.consumer->nudge();
}

Result<bool> RunningService::drain(std::string_view consumer) {
  if (options_.once) return failure(not_by_itself("R358", "cannot drain a single consumer"));
  const system::MutexLock lock(mutex_);
  const auto slot = found(consumer);
  if (!slot) return failure(slot.error());
  const config::ConsumerConfig* const config = config_->find(consumer);
  if (config != nullptr && std::holds_alternative<config::StdinSource>(config->source)) {
    return failure({ErrorKind::kRejected, "R358",
                    fmt::format("consumer \"{}\" reads stdin, to which nothing is given back: what "
                                "it has received and not begun would be lost",
                                consumer),
                    "pause it: the messages that it has received wait"});
  }
  if (config != nullptr && config->is_claimed()) {
    return failure(
        {ErrorKind::kRejected, "R358",
         fmt::format("consumer \"{}\" is claimed by clients, whose claims go on in every "
                     "run of the store",
                     consumer),
         "pause it: then it gives no new claims, in any run"});
  }
  return (*slot)->consumer->drain();
}

Result<bool> RunningService::resume(std::string_view consumer) {
  const system::MutexLock lock(mutex_);
  const auto slot = found(consumer);
  if (!slot) return failure(slot.error());
  return (*slot)->consumer->resume();
}

Result<void> RunningService::check(const config::Config& next,
                                   const config::Difference& difference) {
  if (options_.once) return failure(not_by_itself("R357", "takes up no other config"));
  return check_consumers(*store_, options_, next, difference, leaving_ports(difference));
}

LeavingPorts RunningService::leaving_ports(const config::Difference& difference) const {
  const system::MutexLock lock(mutex_);
  LeavingPorts ports;
  for (const Slot& slot : slots_) {
    const std::string& name = slot.consumer->name();
    const bool leaves = slot.removed || slot.consumer->ending() || difference.find(name) != nullptr;
    const SharedConfig running = leaves ? slot.consumer->in_use() : nullptr;
    const auto port = running ? listen_port(*running, name) : std::nullopt;
    if (port) ports.insert(*port);
  }
  return ports;
}

bool RunningService::take(SharedConfig next, const config::Difference& difference) {
  const system::MutexLock lock(mutex_);
  if (over_ || stopping_) return false;
  config_ = next;
  letters_.change();
  for (const std::string& name : difference.unchanged) {
    if (Slot* const slot = find(name)) slot->consumer->keep(next);
  }
  for (const config::ConsumerChange& change : difference.consumers) take_one(next, change);
  changed_.notify_all();
  return true;
}

void RunningService::take_one(SharedConfig next, const config::ConsumerChange& change) {
  if (change.kind == config::ConsumerChange::Kind::kRemoved) {
    if (Slot* const slot = find(change.consumer)) {
      slot->removed = true;
      slot->consumer->remove();
    }
    return;
  }
  for (Slot& slot : slots_) {
    // Includes a consumer that an earlier reload removed and that is still draining.
    if (slot.consumer->name() != change.consumer || !slot.consumer->restart(next)) continue;
    slot.removed = false;
    return;
  }
  const std::size_t suspects = take_suspects(change.consumer);
  if (Slot* const ended = find(change.consumer)) ended->removed = true;
  Slot& slot = slots_.emplace_back();
  slot.consumer = make_consumer(change.consumer, std::move(next), suspects);
  if (begun_) begin(slot);
}

std::vector<std::string> RunningService::unsettled() const {
  const system::MutexLock lock(mutex_);
  std::vector<std::string> names = leaving_;
  for (const Slot& slot : slots_) {
    if (slot.removed || !slot.consumer->settled()) names.push_back(slot.consumer->name());
  }
  return names;
}

// The number of suspects that earlier consumers of the name have left to the next one.
std::size_t RunningService::take_suspects(const std::string& consumer) {
  std::size_t most = 0;
  if (auto kept = suspects_.extract(consumer)) most = kept.mapped();
  for (const Slot& slot : slots_) {
    if (slot.consumer->name() == consumer) most = std::max(most, slot.consumer->suspects_left());
  }
  return most;
}

// A consumer that takes over a source waits until the previous reader has left it.
bool RunningService::may_begin(const std::string& consumer, const config::Config& next) const {
  const system::MutexLock lock(mutex_);
  return std::ranges::none_of(slots_, [&](const Slot& slot) {
    const SharedConfig running = slot.consumer->ending();
    return running && config::hands_over(*running, slot.consumer->name(), next, consumer);
  });
}

void RunningService::phase_changed() const {
  {
    const system::MutexLock lock(mutex_);
    for (const Slot& slot : slots_) slot.consumer->look_again();
  }
  if (options_.on_phase) options_.on_phase();
}

void RunningService::begin(Slot& slot) {
  slot.thread = std::thread([this, &slot] { serve(slot); });
}

void RunningService::serve(Slot& slot) {
  slot.consumer->run();
  bool stops = false;
  {
    const system::MutexLock lock(mutex_);
    slot.ended = true;
    const RunningConsumer::End end = slot.consumer->end();
    const bool well = end.ended == engine::Ended::kDrained || end.ended == engine::Ended::kFinished;
    // A consumer that cannot continue ends the service, so that its supervisor notices.
    stops = !well && end.by_itself && !slot.removed && !options_.once;
    for (const Slot& other : slots_) other.consumer->nudge();
    changed_.notify_all();
  }
  if (stops) stop();
}

// Takes the slots that a reload removed and whose threads have ended.
std::list<RunningService::Slot> RunningService::take_gone() {
  std::list<Slot> gone;
  for (auto at = slots_.begin(); at != slots_.end();) {
    const auto next = std::next(at);
    if (at->removed && at->ended) {
      const std::string& name = at->consumer->name();
      leaving_.push_back(name);
      const std::size_t suspects = at->consumer->suspects_left();
      // If another consumer has this name, it has taken them over.
      if (suspects > 0 && find(name) == nullptr) suspects_[name] = suspects;
      gone.splice(gone.end(), slots_, at);
    }
    at = next;
  }
  return gone;
}

void RunningService::join_gone(std::list<Slot> gone) {
  for (Slot& slot : gone) {
    slot.thread.join();
    const std::string& name = slot.consumer->name();
    // Held during the call, so that no consumer of this name appears between check and use.
    const system::MutexLock lock(mutex_);
    if (find(name) == nullptr && options_.on_gone) options_.on_gone(name);
    std::erase(leaving_, name);
  }
  if (options_.on_phase) options_.on_phase();
}

int RunningService::run() {
  {
    Housekeeper housekeeper(
        *store_, [this] { nudge_all(); },
        [this](std::chrono::milliseconds budget) { return letters_.run(budget); });
    system::RelockableLock lock(mutex_);
    begun_ = true;
    for (Slot& slot : slots_) begin(slot);
    for (;;) {
      auto gone = take_gone();
      if (!gone.empty()) {
        lock.unlock();
        join_gone(std::move(gone));
        lock.lock();
        continue;
      }
      if (std::ranges::all_of(slots_, &Slot::ended)) break;
      changed_.wait(mutex_);
    }
    over_ = true;
    std::vector<std::thread> threads;
    for (Slot& slot : slots_) threads.push_back(std::move(slot.thread));
    lock.unlock();
    for (std::thread& thread : threads) thread.join();
  }
  return exit_code();
}

std::optional<Error> RunningService::final_error() const {
  const system::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (auto error = slot.consumer->end().final_error) return error;
  }
  return std::nullopt;
}

int RunningService::exit_code() {
  // A final error outranks a temporary one: it would end the next run too.
  if (const auto error = final_error()) return exit_code_of_run(*error);
  const system::MutexLock lock(mutex_);
  int code = 0;
  for (const Slot& slot : slots_) {
    const engine::Ended ended = slot.consumer->end().ended;
    if (ended == engine::Ended::kUnavailable) code = kExitUnavailable;
    if (ended == engine::Ended::kFailed && code == 0) code = kExitPaused;
  }
  return code;
}

}  // namespace

Result<std::unique_ptr<Service>> Service::build(const config::Config& config,
                                                ServiceOptions options) {
  if (options.environment == nullptr) options.environment = &system_environment();
  auto store = open_store(config.store, {.create = !options.dry_run,
                                         .runs = true,
                                         .environment = options.environment,
                                         .stop_fd = options.stop_fd});
  if (!store) return failure(std::move(store.error()));
  std::unique_ptr<Store> opened = *std::move(store);
  if (options.store_metrics != nullptr) {
    opened = telemetry::timed(std::move(opened), *options.store_metrics);
  }
  if (options.tracer != nullptr) opened = traces::traced(std::move(opened), *options.tracer);
  auto service = std::make_unique<RunningService>(
      std::move(opened), std::make_shared<const config::Config>(config), std::move(options));
  if (auto looked = service->look(config); !looked) return failure(std::move(looked.error()));
  if (auto added = service->add_all(); !added) return failure(std::move(added.error()));
  auto expires = service->look_for_letters();
  if (!expires) return failure(std::move(expires.error()));
  return service;
}

}  // namespace semel::compose
