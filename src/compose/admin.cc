#include "compose/admin.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "admin/admin_server.h"
#include "admin/jobs.h"
#include "compose/admin_gauges.h"
#include "compose/admin_overview.h"
#include "compose/compose.h"
#include "compose/doctor.h"
#include "compose/store_look.h"
#include "compose/traces.h"
#include "system/mutex.h"
#include "system/periodic.h"
#include "system/utc_clock.h"
#include "telemetry/delivery_history.h"
#include "telemetry/delivery_metrics.h"
#include "telemetry/exposition.h"
#include "telemetry/recent_deliveries.h"

namespace semel::compose {

namespace {

using admin::Readiness;

// How long a scrape waits for the store's statistics.
constexpr std::chrono::milliseconds kStorePatience{100};
constexpr const char* kNotShown = "why is not shown (admin.errors)";

std::vector<std::string> consumer_names(const config::Config& config) {
  std::vector<std::string> names;
  for (const auto& consumer : config.consumers) names.push_back(consumer.name);
  return names;
}

std::vector<ConsumerAbout> about(const config::Config& config) {
  std::vector<ConsumerAbout> all;
  for (const auto& consumer : config.consumers) {
    // A C++ handler brings its strategy, and with it the guarantee, where none is named.
    const bool by_handler =
        !consumer.strategy_named && std::holds_alternative<config::NativeHandler>(consumer.handler);
    all.push_back({consumer.name, std::string(config::name_of(consumer.source)),
                   by_handler ? "its strategy" : core::to_string(consumer.strategy),
                   std::string(config::name_of(consumer.handler)),
                   by_handler ? "" : to_string(guarantee_of(config, consumer).name)});
  }
  return all;
}

class RunAdmin final : public Admin {
 public:
  explicit RunAdmin(const config::Config& config)
      : config_(config),
        about_(about(config)),
        store_(config::traits_of(config.store).name),
        began_(system::utc_now()),
        health_(consumer_names(config)) {}
  ~RunAdmin() override {
    sampler_.reset();
    server_.reset();
    jobs_.stop();
  }

  Result<void> listen(const config::AdminConfig& config);

  void watch(ServiceOptions& options) override;
  const telemetry::HealthObserver& health() const noexcept override { return health_; }
  std::uint16_t port() const noexcept override {
    return server_ == nullptr ? std::uint16_t{0} : server_->port();
  }

 private:
  void serve(Service& service) override SEMEL_EXCLUDES(mutex_);
  void leave() override SEMEL_EXCLUDES(mutex_);
  std::string metrics(MetricsFormat format) SEMEL_EXCLUDES(mutex_);
  admin::Backlog backlog(std::string_view consumer) SEMEL_EXCLUDES(mutex_);
  GaugeInput look() SEMEL_REQUIRES(mutex_);
  Readiness::Phase phase() const SEMEL_REQUIRES(mutex_);
  Readiness readiness() SEMEL_EXCLUDES(mutex_);
  admin::Overview overview() SEMEL_EXCLUDES(mutex_);
  bool with_store(const std::function<void(Store&)>& use) SEMEL_EXCLUDES(mutex_);
  Result<std::string> doctor(Store& store);
  admin::ApiSources api_sources();
  void sample() noexcept;

  const config::Config config_;
  const std::vector<ConsumerAbout> about_;
  const std::string store_;
  const UtcTime began_;
  telemetry::HealthObserver health_;
  MetricsObserver metrics_;
  telemetry::RecentDeliveries recent_;
  telemetry::StoreMetrics store_metrics_;
  std::atomic<const Traces*> traces_{nullptr};
  telemetry::DeliveryHistory history_{telemetry::deliveries_of(metrics_)};
  system::Mutex mutex_;
  Service* service_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<StoreLook> store_look_ SEMEL_GUARDED_BY(mutex_);
  bool over_ SEMEL_GUARDED_BY(mutex_) = false;
  int store_users_ SEMEL_GUARDED_BY(mutex_) = 0;
  system::CondVar store_left_;
  std::atomic<bool> doctor_runs_{false};
  admin::Jobs jobs_{config_, [this](const auto& use) { return with_store(use); }};
  std::unique_ptr<admin::AdminServer> server_;
  std::unique_ptr<system::Periodic> sampler_;
};

Result<void> RunAdmin::listen(const config::AdminConfig& config) {
  admin::AdminOptions options;
  options.listen = config.listen;
  if (config.tls) options.tls = admin::HttpTls{config.tls->certificate, config.tls->key};
  for (const config::AdminToken& token : config.tokens) {
    options.tokens.push_back({token.name, token.secret, token.role});
  }
  auto server = admin::AdminServer::open(
      std::move(options),
      {[this](MetricsFormat format) { return metrics(format); }, api_sources()});
  if (!server) return failure(std::move(server.error()));
  server_ = std::move(*server);
  sampler_ = std::make_unique<system::Periodic>(telemetry::DeliveryHistory::kInterval,
                                                [this] { sample(); });
  return {};
}

admin::ApiSources RunAdmin::api_sources() {
  admin::ApiSources sources;
  sources.config = &config_;
  sources.store_name = store_name(config_.store);
  sources.overview = [this] { return overview(); };
  sources.readiness = [this] { return readiness(); };
  sources.backlog = [this](std::string_view name) { return backlog(name); };
  sources.guarantee = [this](const config::ConsumerConfig& consumer) {
    return guarantee_of(config_, consumer);
  };
  sources.with_store = [this](const std::function<void(Store&)>& use) { return with_store(use); };
  sources.jobs = &jobs_;
  sources.recent = &recent_;
  sources.duplicate_ages = [this](const std::string& consumer) {
    const auto totals = telemetry::deliveries_of(metrics_).of(consumer).totals();
    return admin::DuplicateAges{totals.duplicate_age, totals.duplicates_near_ttl};
  };
  sources.doctor = [this](Store& store) -> Result<std::string> { return doctor(store); };
  return sources;
}

// One at a time, whether the API or a page asks.
Result<std::string> RunAdmin::doctor(Store& store) {
  if (doctor_runs_.exchange(true)) {
    return failure(
        {ErrorKind::kUnavailable, "R345", "another doctor runs: one at a time", "ask again later"});
  }
  struct Release {
    std::atomic<bool>& runs;
    ~Release() { runs = false; }
  } const release{doctor_runs_};
  auto report = examine(store, config_);
  if (!report) return failure(std::move(report.error()));
  return doctor_json(config_, *report).text();
}

bool RunAdmin::with_store(const std::function<void(Store&)>& use) {
  Service* service = nullptr;
  {
    const system::MutexLock lock(mutex_);
    if (service_ == nullptr) return false;
    service = service_;
    ++store_users_;
  }
  const auto left = [this]() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    --store_users_;
    store_left_.notify_all();
  };
  try {
    use(service->store());
  } catch (...) {
    left();
    throw;
  }
  left();
  return true;
}

// An interval without memory for it is lost.
void RunAdmin::sample() noexcept {
  try {
    history_.sample();
  } catch (...) {
  }
}

void RunAdmin::watch(ServiceOptions& options) {
  traces_.store(options.run_traces);
  options.observers.push_back(&health_);
  if (server_ == nullptr) return;
  options.observers.push_back(&metrics_);
  options.observers.push_back(&recent_);
  options.delivery_metrics = &telemetry::deliveries_of(metrics_);
  options.store_metrics = &store_metrics_;
}

void RunAdmin::serve(Service& service) {
  const system::MutexLock lock(mutex_);
  service_ = &service;
  if (server_ == nullptr) return;
  store_look_ = std::make_unique<StoreLook>([&service] { return service.look_at_store(); });
}

void RunAdmin::leave() {
  // While it has the store still, in which their entries are ended.
  jobs_.stop();
  std::unique_ptr<StoreLook> ending;
  {
    const system::MutexLock lock(mutex_);
    service_ = nullptr;
    over_ = true;
    ending = std::move(store_look_);
    store_left_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return store_users_ == 0; });
  }
}

GaugeInput RunAdmin::look() {
  GaugeInput input{store_, began_, service_ != nullptr, health_.snapshot(), {}, {}, {}};
  if (service_ == nullptr) return input;
  input.sources = service_->figures();
  input.in_flight = service_->in_flight();
  input.seen = store_look_->get(kStorePatience);
  return input;
}

std::string RunAdmin::metrics(MetricsFormat format) {
  std::vector<telemetry::MetricFamily> families = telemetry::deliveries_of(metrics_).families();
  std::ranges::move(store_metrics_.families(store_), std::back_inserter(families));
  if (const Traces* const traces = traces_.load()) {
    std::ranges::move(traces->families(), std::back_inserter(families));
  }
  const system::MutexLock lock(mutex_);
  std::ranges::move(gauges_of(look()), std::back_inserter(families));
  return telemetry::exposition(families, format);
}

admin::Backlog RunAdmin::backlog(std::string_view consumer) {
  const system::MutexLock lock(mutex_);
  return backlog_of(look(), consumer);
}

Readiness::Phase RunAdmin::phase() const {
  if (over_ || (service_ != nullptr && service_->is_stopping())) return Readiness::Phase::kDraining;
  return service_ == nullptr ? Readiness::Phase::kStarting : Readiness::Phase::kRunning;
}

Readiness RunAdmin::readiness() {
  Readiness made;
  for (auto& health : health_.snapshot()) made.consumers.push_back({std::move(health), {}});
  const system::MutexLock lock(mutex_);
  made.phase = phase();
  if (service_ == nullptr) return made;
  for (auto& figures : service_->figures()) {
    for (admin::ConsumerReadiness& consumer : made.consumers) {
      if (consumer.health.consumer != figures.consumer) continue;
      consumer.sources.push_back({std::move(figures.source), std::move(figures.figures)});
      break;
    }
  }
  return made;
}

admin::Overview RunAdmin::overview() {
  Readiness ready = readiness();
  const system::MutexLock lock(mutex_);
  const GaugeInput input = look();
  admin::Overview made = overview_of(input, about_, ready.word());
  for (admin::ConsumerOverview& consumer : made.consumers) {
    consumer.intervals = history_.intervals(consumer.name);
    // A handler's words may quote a message, and nobody can tell them from a person's.
    const bool is_hidden =
        config_.admin && config_.admin->shows.errors == core::Disclosure::Errors::kCause;
    if (is_hidden && !consumer.why.empty()) consumer.why = kNotShown;
  }
  return made;
}

}  // namespace

Result<std::unique_ptr<Admin>> Admin::open(const config::Config& config, bool dry_run) {
  auto made = std::make_unique<RunAdmin>(config);
  if (config.admin && !dry_run) {
    if (auto listening = made->listen(*config.admin); !listening) {
      return failure(std::move(listening.error()));
    }
  }
  return made;
}

}  // namespace semel::compose
