#include "compose/admin.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "admin/admin_server.h"
#include "admin/claim_memory.h"
#include "admin/departed_consumers.h"
#include "admin/jobs.h"
#include "admin/shown.h"
#include "compose/admin_gauges.h"
#include "compose/admin_overview.h"
#include "compose/compose.h"
#include "compose/doctor.h"
#include "compose/reloader.h"
#include "compose/store_look.h"
#include "compose/traces.h"
#include "system/mutex.h"
#include "system/periodic.h"
#include "system/utc_clock.h"
#include "telemetry/delivery_history.h"
#include "telemetry/delivery_metrics.h"
#include "telemetry/exposition.h"
#include "telemetry/recent_deliveries.h"
#include "telemetry/replay_counters.h"

namespace semel::compose {

namespace {

using admin::Readiness;

// How long a scrape waits for the store's statistics.
constexpr std::chrono::milliseconds kStorePatience{100};
constexpr const char* kDrainedWord = "drained";
// Replaces the names of consumer and component in reports about the listener itself.
constexpr std::string_view kOfTheListener = "admin";
constexpr std::string_view kCertificate = "certificate";

std::vector<std::string> consumer_names(const config::Config& config) {
  std::vector<std::string> names;
  for (const auto& consumer : config.consumers) names.push_back(consumer.name);
  return names;
}

std::vector<ConsumerAbout> about(const config::Config& config) {
  std::vector<ConsumerAbout> all;
  for (const auto& consumer : config.consumers) {
    // Unless the config names a strategy, a C++ handler sets it, and thereby the guarantee.
    const bool by_handler = !consumer.strategy_named && !consumer.is_claimed() &&
                            std::holds_alternative<config::NativeHandler>(consumer.handler);
    all.push_back({consumer.name, std::string(config::name_of(consumer.source)),
                   by_handler ? "its strategy" : core::to_string(consumer.strategy),
                   config::handler_name(consumer),
                   by_handler ? "" : to_string(guarantee_of(config, consumer).name)});
  }
  return all;
}

using SharedConfig = std::shared_ptr<const config::Config>;

Error no_run() {
  return {ErrorKind::kUnavailable, "R345", "the run has not begun yet, or has ended",
          "ask again once it is ready: /readyz"};
}

Error no_reloader() {
  return {ErrorKind::kRejected, "R357", "this program takes up no other config while it runs",
          "start the program again, or its consumers by semel run"};
}

// Empty for a consumer that is in the same phase as the run.
std::string phase_word(Service::Phase phase) {
  switch (phase) {
    case Service::Phase::kStarting:
      return "starting";
    case Service::Phase::kDraining:
      return "draining";
    case Service::Phase::kDrained:
      return kDrainedWord;
    case Service::Phase::kRunning:
    case Service::Phase::kOver:
      break;
  }
  return {};
}

admin::DrainState drain_state(const Service& service, const std::string& consumer, bool changed) {
  admin::DrainState made;
  made.changed = changed;
  for (const auto& [name, phase] : service.phases()) {
    if (name == consumer) made.phase = phase_word(phase);
  }
  if (made.phase.empty()) made.phase = "running";
  for (const auto& [name, deliveries] : service.in_flight()) {
    if (name == consumer) made.in_flight = deliveries;
  }
  return made;
}

std::vector<admin::AdminOptions::Token> tokens_of(const config::AdminConfig& config) {
  std::vector<admin::AdminOptions::Token> tokens;
  for (const config::AdminToken& token : config.tokens)
    tokens.push_back({token.name, token.secret, token.role, token.claims});
  return tokens;
}

class RunAdmin final : public Admin {
 public:
  explicit RunAdmin(const config::Config& config)
      : config_(config),
        store_(config::traits_of(config.store).name),
        began_(system::utc_now()),
        health_(consumer_names(config)),
        current_(std::make_shared<const config::Config>(config)),
        about_(about(config)) {
    replays_.add(consumer_names(config));
  }
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
  void take(SharedConfig config) override SEMEL_EXCLUDES(mutex_);

 private:
  void serve(Service& service, Reloader* reloader) override SEMEL_EXCLUDES(mutex_);
  void leave() override SEMEL_EXCLUDES(mutex_);
  std::string metrics(MetricsFormat format) SEMEL_EXCLUDES(mutex_);
  admin::Backlog backlog(std::string_view consumer) SEMEL_EXCLUDES(mutex_);
  using Phases = decltype(GaugeInput::phases);
  Phases phases() const SEMEL_REQUIRES(mutex_);
  std::vector<telemetry::ConsumerHealth> health_of(const Phases& phases) const;
  GaugeInput look() SEMEL_REQUIRES(mutex_);
  Readiness::Phase phase() const SEMEL_REQUIRES(mutex_);
  Readiness readiness() SEMEL_EXCLUDES(mutex_);
  admin::Overview overview() SEMEL_EXCLUDES(mutex_);
  bool with_store(const std::function<void(Store&)>& use) SEMEL_EXCLUDES(mutex_);
  bool with_run(const std::function<void(Service&, Reloader*)>& use) SEMEL_EXCLUDES(mutex_);
  admin::Reloaded reload(bool dry_run) SEMEL_EXCLUDES(mutex_);
  admin::ReloadState reload_state() SEMEL_EXCLUDES(mutex_);
  Result<admin::DrainState> change_drain(const std::string& consumer, bool drain)
      SEMEL_EXCLUDES(mutex_);
  SharedConfig current() const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return current_;
  }
  Result<std::string> doctor(Store& store);
  admin::ApiSources api_sources();
  void sample() noexcept;
  void note_certificate(const Error* error) SEMEL_EXCLUDES(certificate_mutex_);
  std::optional<admin::CertificateTrouble> certificate() const SEMEL_EXCLUDES(certificate_mutex_) {
    const system::MutexLock lock(certificate_mutex_);
    return certificate_;
  }

  const config::Config config_;  // as the run began
  const std::string store_;
  const UtcTime began_;
  telemetry::HealthObserver health_;
  MetricsObserver metrics_;
  telemetry::RecentDeliveries recent_;
  telemetry::StoreMetrics store_metrics_;
  telemetry::ReplayCounters replays_;
  std::atomic<const Traces*> traces_{nullptr};
  telemetry::DeliveryHistory history_{telemetry::deliveries_of(metrics_)};
  mutable system::Mutex mutex_;
  SharedConfig current_ SEMEL_GUARDED_BY(mutex_);
  std::vector<ConsumerAbout> about_ SEMEL_GUARDED_BY(mutex_);
  Service* service_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  Reloader* reloader_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<StoreLook> store_look_ SEMEL_GUARDED_BY(mutex_);
  bool over_ SEMEL_GUARDED_BY(mutex_) = false;
  int store_users_ SEMEL_GUARDED_BY(mutex_) = 0;
  system::CondVar store_left_;
  std::atomic<bool> doctor_runs_{false};
  mutable system::Mutex certificate_mutex_;
  std::vector<Observer*> told_ SEMEL_GUARDED_BY(certificate_mutex_);
  std::optional<admin::CertificateTrouble> certificate_ SEMEL_GUARDED_BY(certificate_mutex_);
  admin::ClaimMemory claims_;
  admin::DepartedConsumers departed_;
  admin::Jobs jobs_{[this] { return current(); },
                    [this](const auto& use) { return with_store(use); }, admin::Jobs::kBetweenTries,
                    [this](const auto& consumer, auto result) { replays_.note(consumer, result); }};
  std::unique_ptr<admin::AdminServer> server_;
  std::unique_ptr<system::Periodic> sampler_;
};

Result<void> RunAdmin::listen(const config::AdminConfig& config) {
  admin::AdminOptions options;
  options.listen = config.listen;
  if (config.socket) {
    options.socket = admin::AdminOptions::Socket{config.socket->path, config.socket->group,
                                                 config.socket->role, config.socket->claims};
  }
  if (config.tls) options.tls = admin::HttpTls{config.tls->certificate, config.tls->key};
  options.on_certificate = [this](const Error* error) { note_certificate(error); };
  options.tokens = tokens_of(config);
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
  sources.current_config = [this] { return current(); };
  sources.store_name = store_name(config_.store);
  sources.overview = [this] { return overview(); };
  sources.readiness = [this] { return readiness(); };
  sources.backlog = [this](std::string_view name) { return backlog(name); };
  sources.guarantee = [this](const config::ConsumerConfig& consumer) {
    return guarantee_of(*current(), consumer);
  };
  sources.with_store = [this](const std::function<void(Store&)>& use) { return with_store(use); };
  sources.jobs = &jobs_;
  sources.claims = &claims_;
  sources.departed = &departed_;
  sources.recent = &recent_;
  sources.replayed = [this](const auto& consumer, auto result) { replays_.note(consumer, result); };
  sources.duplicate_ages = [this](const std::string& consumer) {
    const auto totals = telemetry::deliveries_of(metrics_).of(consumer).totals();
    return admin::DuplicateAges{totals.duplicate_age, totals.duplicates_near_ttl};
  };
  sources.doctor = [this](Store& store) -> Result<std::string> { return doctor(store); };
  sources.reload = [this](bool dry_run) { return reload(dry_run); };
  sources.reload_state = [this] { return reload_state(); };
  sources.drain = [this](const std::string& name) { return change_drain(name, true); };
  sources.resume = [this](const std::string& name) { return change_drain(name, false); };
  return sources;
}

// Only one doctor runs at a time, whether the API or a page asks for it.
Result<std::string> RunAdmin::doctor(Store& store) {
  if (doctor_runs_.exchange(true)) {
    return failure(
        {ErrorKind::kUnavailable, "R345", "another doctor runs: one at a time", "ask again later"});
  }
  struct Release {
    std::atomic<bool>& runs;
    ~Release() { runs = false; }
  } const release{doctor_runs_};
  const SharedConfig config = current();
  auto report = examine(store, *config);
  if (!report) return failure(std::move(report.error()));
  if (const auto trouble = certificate()) {
    report->findings.push_back(
        {trouble->error.code, false, trouble->error.message, trouble->error.hint});
  }
  return doctor_json(*config, *report).text();
}

bool RunAdmin::with_store(const std::function<void(Store&)>& use) {
  return with_run([&](Service& service, Reloader*) { use(service.store()); });
}

bool RunAdmin::with_run(const std::function<void(Service&, Reloader*)>& use) {
  Service* service = nullptr;
  Reloader* reloader = nullptr;
  {
    const system::MutexLock lock(mutex_);
    if (service_ == nullptr) return false;
    service = service_;
    reloader = reloader_;
    ++store_users_;
  }
  const auto left = [this]() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    --store_users_;
    store_left_.notify_all();
  };
  try {
    use(*service, reloader);
  } catch (...) {
    left();
    throw;
  }
  left();
  return true;
}

admin::Reloaded RunAdmin::reload(bool dry_run) {
  admin::Reloaded made = tl::unexpected(admin::ReloadRefusal{no_run(), {}});
  (void)with_run([&](Service&, Reloader* reloader) {
    if (reloader != nullptr) {
      made = reloader->reload(dry_run);
    } else {
      made = tl::unexpected(admin::ReloadRefusal{no_reloader(), {}});
    }
  });
  return made;
}

admin::ReloadState RunAdmin::reload_state() {
  admin::ReloadState state;
  const bool asked = with_run([&](Service&, Reloader* reloader) {
    if (reloader != nullptr) state = reloader->state();
  });
  if (!asked || state.taken_at == UtcTime{}) state.taken_at = began_;
  return state;
}

Result<admin::DrainState> RunAdmin::change_drain(const std::string& consumer, bool drain) {
  Result<admin::DrainState> made = failure(no_run());
  (void)with_run([&](Service& service, Reloader*) {
    const auto changed = drain ? service.drain(consumer) : service.resume(consumer);
    made = changed ? Result<admin::DrainState>(drain_state(service, consumer, *changed))
                   : Result<admin::DrainState>(failure(changed.error()));
  });
  return made;
}

void RunAdmin::take(SharedConfig config) {
  replays_.add(consumer_names(*config));
  departed_.note(*current(), *config);
  if (server_ != nullptr && config->admin) server_->set_tokens(tokens_of(*config->admin));
  const system::MutexLock lock(mutex_);
  about_ = about(*config);
  current_ = std::move(config);
}

// An interval for which there is no memory is lost.
void RunAdmin::sample() noexcept {
  try {
    history_.sample();
  } catch (...) {
  }
}

// Called by the server's thread, which starts before there are observers to report to.
void RunAdmin::note_certificate(const Error* error) {
  std::vector<Observer*> told;
  std::optional<admin::CertificateTrouble> before;
  {
    const system::MutexLock lock(certificate_mutex_);
    told = told_;
    before = std::exchange(certificate_, std::nullopt);
    if (error != nullptr) certificate_ = {*error, before ? before->since : system::utc_now()};
  }
  const Error about = error != nullptr ? *error : before ? before->error : Error();
  for (Observer* const observer : told) {
    observer->on_trouble(kOfTheListener, kCertificate, about, error == nullptr);
  }
}

void RunAdmin::watch(ServiceOptions& options) {
  {
    const system::MutexLock lock(certificate_mutex_);
    told_ = options.observers;
  }
  if (const auto trouble = certificate()) {
    for (Observer* const observer : options.observers) {
      observer->on_trouble(kOfTheListener, kCertificate, trouble->error, false);
    }
  }
  traces_.store(options.run_traces);
  options.observers.push_back(&health_);
  options.on_gone = [this](const std::string& consumer) { health_.forget(consumer); };
  if (server_ == nullptr) return;
  options.observers.push_back(&metrics_);
  options.observers.push_back(&recent_);
  options.delivery_metrics = &telemetry::deliveries_of(metrics_);
  options.store_metrics = &store_metrics_;
}

void RunAdmin::serve(Service& service, Reloader* reloader) {
  const system::MutexLock lock(mutex_);
  service_ = &service;
  reloader_ = reloader;
  if (server_ == nullptr) return;
  store_look_ = std::make_unique<StoreLook>([&service] { return service.look_at_store(); });
}

void RunAdmin::leave() {
  // The jobs end their audit entries in the store, so stop them while it is still available.
  jobs_.stop();
  std::unique_ptr<StoreLook> ending;
  {
    const system::MutexLock lock(mutex_);
    service_ = nullptr;
    reloader_ = nullptr;
    over_ = true;
    ending = std::move(store_look_);
    store_left_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return store_users_ == 0; });
  }
}

RunAdmin::Phases RunAdmin::phases() const {
  Phases made;
  if (service_ == nullptr) return made;
  for (const auto& [name, phase] : service_->phases()) made[name] = phase_word(phase);
  return made;
}

// Outages of a drained consumer are left out: it uses neither store nor source.
std::vector<telemetry::ConsumerHealth> RunAdmin::health_of(const Phases& phases) const {
  auto all = health_.snapshot();
  for (telemetry::ConsumerHealth& one : all) {
    const auto own = phases.find(one.consumer);
    if (own != phases.end() && own->second == kDrainedWord) one.outages.clear();
  }
  return all;
}

GaugeInput RunAdmin::look() {
  GaugeInput input{store_, began_, service_ != nullptr, {}, {}, {}, {}, {}};
  input.phases = phases();
  input.health = health_of(input.phases);
  if (service_ == nullptr) return input;
  input.sources = service_->figures();
  input.in_flight = service_->in_flight();
  input.seen = store_look_->get(kStorePatience);
  return input;
}

std::string RunAdmin::metrics(MetricsFormat format) {
  std::vector<telemetry::MetricFamily> families = telemetry::deliveries_of(metrics_).families();
  std::ranges::move(store_metrics_.families(store_), std::back_inserter(families));
  families.push_back(replays_.family());
  std::ranges::move(reload_families(reload_state()), std::back_inserter(families));
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
  const system::MutexLock lock(mutex_);
  made.phase = phase();
  made.certificate = certificate();
  const Phases phases = this->phases();
  for (auto& health : health_of(phases)) {
    const auto own = phases.find(health.consumer);
    made.consumers.push_back(
        {std::move(health), {}, own == phases.end() ? std::string() : own->second});
  }
  if (service_ == nullptr) return made;
  for (auto& figures : service_->figures()) {
    for (admin::ConsumerReadiness& consumer : made.consumers) {
      if (consumer.health.consumer != figures.consumer || figures.figures.empty()) continue;
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
    // `why` may be a handler's error text, which may quote a message. It looks no different from an
    // operator's text.
    const bool is_hidden =
        current_->admin && current_->admin->shows.errors == core::Disclosure::Errors::kCause;
    if (is_hidden && !consumer.why.empty()) consumer.why = admin::kNotShown;
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
