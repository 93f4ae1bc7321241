#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <thread>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/reason.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/unit_of_work.h>

#include "base/iso_time.h"
#include "base/printable.h"
#include "compose/compose.h"
#include "compose/consumer_parts.h"
#include "compose/letter_expiry.h"
#include "compose/live.h"
#include "compose/outbox.h"
#include "compose/purge_pace.h"
#include "config/catalog.h"
#include "engine/engine.h"
#include "system/mutex.h"
#include "system/periodic.h"
#include "system/utc_clock.h"
#include "traces/traced_store.h"

namespace semel::compose {

namespace {

using std::chrono::milliseconds;

constexpr int kExitFailed = 1;
constexpr int kExitHung = 70;
constexpr std::string_view kHung = "R260";

// Tells every observer; the engines know only one.
class FanOut final : public Observer {
 public:
  explicit FanOut(std::vector<Observer*> observers) : observers_(std::move(observers)) {}
  void on_consumer(const ConsumerInfo& consumer) noexcept override {
    for (Observer* o : observers_) o->on_consumer(consumer);
  }
  void on_received(std::string_view consumer, std::size_t deliveries) noexcept override {
    for (Observer* o : observers_) o->on_received(consumer, deliveries);
  }
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override {
    for (Observer* o : observers_) o->on_ended(consumer, delivery, outcome, took);
  }
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override {
    for (Observer* o : observers_) o->on_refused(consumer, arrival, reason, error);
  }
  void on_held(std::string_view consumer, const Delivery& delivery) noexcept override {
    for (Observer* o : observers_) o->on_held(consumer, delivery);
  }
  void on_letters_expired(std::string_view consumer, std::size_t letters) noexcept override {
    for (Observer* o : observers_) o->on_letters_expired(consumer, letters);
  }
  void on_lease_lost(std::string_view consumer, const Delivery& delivery) noexcept override {
    for (Observer* o : observers_) o->on_lease_lost(consumer, delivery);
  }
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override {
    for (Observer* o : observers_) o->on_trouble(consumer, where, error, mended);
  }
  void on_notice(std::string_view consumer, std::string_view text) noexcept override {
    for (Observer* o : observers_) o->on_notice(consumer, text);
  }

 private:
  std::vector<Observer*> observers_;
};

// Sweeps what dead processes held and purges what is past its time, beside the engines.
class Housekeeper {
 public:
  Housekeeper(Store& store, std::function<void()> freed, LetterExpiry letters, Observer& observer)
      : store_(store),
        freed_(std::move(freed)),
        letters_(std::move(letters)),
        observer_(observer),
        turns_(PurgePace::kTurn, [this] { turn(); }) {}

 private:
  // A failure is tried again at the next turn; the engines tell of a store that is away.
  void turn() {
    RunMarkers* const runs = store_.facets().runs;
    if (runs != nullptr && runs->sweep().value_or(false)) freed_();
    const milliseconds budget = pace_.turn();
    if (budget == milliseconds(0)) return;
    const auto purged = store_.purge(budget);
    // A purge that stops at a clock that jumped stops this too.
    pace_.note(purged && (expire_letters(budget) || purged->more));
  }
  bool expire_letters(milliseconds budget) {
    const auto more = letters_.run(budget, [this](std::string_view consumer, std::size_t letters) {
      observer_.on_letters_expired(consumer, letters);
    });
    // One letter that cannot be read stops all behind it: told once, not at every turn.
    if (!more && more.error().message != letters_stand_still_) {
      for (const std::string& consumer : letters_.consumers()) {
        observer_.on_notice(
            consumer, fmt::format("dead letters past their time stay: {}", more.error().message));
      }
    }
    letters_stand_still_ = more ? std::string() : more.error().message;
    return more.value_or(false);
  }

  Store& store_;
  const std::function<void()> freed_;
  LetterExpiry letters_;
  std::string letters_stand_still_;  // why; empty: they do not
  Observer& observer_;
  PurgePace pace_;
  system::Periodic turns_;
};

Error hung_error(std::string text) {
  return {ErrorKind::kUnavailable, std::string(kHung), std::move(text), {}};
}

[[noreturn]] void end_hung(const std::string& consumer, const std::string& what,
                           const std::function<void(std::string_view, const Error&)>& tell) {
  constexpr std::string_view kEnds =
      "this process ends, the next start counts what was in flight, and handles it first";
  if (tell) {
    tell(consumer, hung_error(fmt::format("{}; {}", what, kEnds)));
  } else {
    fmt::print(stderr, "{}  error[{}] {}: {}; {}\n", iso_time(system::utc_now()), kHung, consumer,
               printable_text(what), kEnds);
    std::fflush(stderr);
  }
  ::_exit(kExitHung);
}

class RunningService final : public Service {
 public:
  RunningService(std::unique_ptr<Store> store, ServiceOptions options)
      : store_(std::move(store)), options_(std::move(options)), observer_(options_.observers) {}

  Result<void> add(const config::Config& config, const config::ConsumerConfig& consumer);
  // After the consumers, which it looks for in the store. A dry run removes nothing.
  Result<void> expire_letters_of(const config::Config& config);
  int run() override;
  const std::vector<std::string>& risks() const noexcept override { return risks_; }
  std::vector<Figures> figures() override;
  std::vector<std::pair<std::string, std::size_t>> in_flight() const override;
  Result<void> look(const config::Config& config);
  static std::vector<std::size_t> feeders_of(const config::Config& config,
                                             const config::ConsumerConfig& consumer);
  bool is_stopping() const noexcept override { return stopping_.load(); }
  Store& store() noexcept override { return *store_; }
  Result<std::optional<StoreSnapshot>> look_at_store() override;
  void stop() noexcept override {
    stopping_.store(true);
    for (const auto& engine : engines_) engine->stop();
  }

 private:
  std::unique_ptr<Store> store_;
  ServiceOptions options_;
  FanOut observer_;
  system::Mutex suspect_gate_;
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::vector<std::string> consumers_;  // of the engines
  std::deque<std::atomic<bool>> over_;  // likewise: their runs
  std::vector<std::string> risks_;
  std::optional<LetterExpiry> letters_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> hung_told_{false};
};

Result<void> RunningService::look(const config::Config& config) {
  const auto live = look_live(*store_, config);
  if (!live) return failure(live.error());
  for (const Live::Checked& checked : live->statements) {
    if (stops_a_run(checked)) return refuse(checked);
  }
  risks_ = risks_of(*live);
  return {};
}

Result<void> RunningService::add(const config::Config& config,
                                 const config::ConsumerConfig& consumer) {
  ConsumerBuild build;
  build.config = &config;
  build.consumer = &consumer;
  build.store = store_.get();
  build.options = &options_;
  build.observer = &observer_;
  auto parts = make_consumer_parts(build);
  if (!parts) return failure(std::move(parts.error()));
  parts->parts.suspect_gate = &suspect_gate_;
  if (options_.once) {
    const auto feeders = feeders_of(config, consumer);
    parts->parts.fed = [this, feeders] {
      return std::ranges::any_of(feeders, [this](std::size_t one) { return !over_[one]; });
    };
  }
  parts->parts.hung = [this, name = consumer.name](const std::string& what) {
    if (options_.instead_of_end) {
      if (!hung_told_.exchange(true)) options_.instead_of_end(name, hung_error(what));
      return;
    }
    // Neither destructors nor the drain may run: the handler still uses what they would take away.
    end_hung(name, what, options_.on_hung);
  };
  ConsumerInfo info{consumer.name,
                    {},
                    std::string(config::name_of(consumer.handler)),
                    parts->options.retention.ttl};
  for (const auto& source : parts->parts.sources) {
    info.sources.emplace_back(source->traits().name);
  }
  observer_.on_consumer(info);
  over_.emplace_back(false);
  engines_.push_back(engine::Engine::create(std::move(parts->options), std::move(parts->parts)));
  consumers_.push_back(consumer.name);
  return {};
}

Result<void> RunningService::expire_letters_of(const config::Config& config) {
  auto letters = LetterExpiry::of(
      *store_, options_.dry_run ? std::span<const config::ConsumerConfig>() : config.consumers);
  if (!letters) return failure(std::move(letters.error()));
  letters_ = *std::move(letters);
  return {};
}

// The places of those that may still send to it; engines are in the order of the config.
std::vector<std::size_t> RunningService::feeders_of(const config::Config& config,
                                                    const config::ConsumerConfig& consumer) {
  std::vector<std::size_t> feeders;
  for (std::size_t i = 0; i < config.consumers.size(); ++i) {
    if (feeds(config, config.consumers[i], consumer)) feeders.push_back(i);
  }
  return feeders;
}

std::vector<Service::Figures> RunningService::figures() {
  std::vector<Figures> all;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    for (auto& one : engines_[i]->figures()) {
      all.push_back({consumers_[i], std::string(one.source), std::move(one.figures)});
    }
  }
  return all;
}

std::vector<std::pair<std::string, std::size_t>> RunningService::in_flight() const {
  std::vector<std::pair<std::string, std::size_t>> all;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    all.emplace_back(consumers_[i], engines_[i]->in_flight());
  }
  return all;
}

Result<std::optional<StoreSnapshot>> RunningService::look_at_store() {
  const StoreFacets facets = store_->facets();
  if (facets.records == nullptr) return std::nullopt;
  auto stats = facets.records->backlog();
  if (!stats) return failure(std::move(stats.error()));
  StoreSnapshot made{*std::move(stats), {}};
  if (facets.gates == nullptr) return made;
  for (const StoreStats::Consumer& consumer : made.stats.consumers) {
    auto gate = facets.gates->state(consumer.number);
    if (!gate) return failure(std::move(gate.error()));
    if (*gate) made.shut_gates.emplace(consumer.name, **std::move(gate));
  }
  return made;
}

int RunningService::run() {
  std::vector<engine::Ended> ended(engines_.size());
  {
    Housekeeper housekeeper(
        *store_,
        [this] {
          for (const auto& engine : engines_) engine->nudge();
        },
        letters_.value(), observer_);
    std::vector<std::thread> threads;
    threads.reserve(engines_.size());
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      threads.emplace_back([this, i, &ended] {
        ended[i] = engines_[i]->run();
        const bool well =
            ended[i] == engine::Ended::kDrained || ended[i] == engine::Ended::kFinished;
        over_[i] = true;
        for (const auto& engine : engines_) engine->nudge();
        // A consumer that cannot go on takes the service down, so that whoever watches it is told.
        if (!well && !options_.once) stop();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  int code = 0;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    // A final error outranks one that may pass: it would end the next run too.
    if (const auto error = engines_[i]->final_error()) return config::exit_code_of(*error);
    if (ended[i] == engine::Ended::kUnavailable) code = kExitUnavailable;
    if (ended[i] == engine::Ended::kFailed && code == 0) code = kExitFailed;
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
  auto service = std::make_unique<RunningService>(std::move(opened), std::move(options));
  if (auto looked = service->look(config); !looked) return failure(std::move(looked.error()));
  for (const config::ConsumerConfig& consumer : config.consumers) {
    auto added = service->add(config, consumer);
    if (!added) return failure(std::move(added.error()));
  }
  auto expires = service->expire_letters_of(config);
  if (!expires) return failure(std::move(expires.error()));
  return service;
}

}  // namespace semel::compose
