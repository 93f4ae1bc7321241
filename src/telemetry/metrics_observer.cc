#include <semel/metrics.h>

#include "telemetry/delivery_metrics.h"
#include "telemetry/exposition.h"

namespace semel {

namespace {

// Without memory a count is lost, but no delivery.
template <class Count>
void count_for(telemetry::DeliveryMetrics& metrics, std::string_view consumer,
               Count&& count) noexcept {
  try {
    count(metrics.of(consumer));
  } catch (...) {
  }
}

}  // namespace

std::string_view content_type(MetricsFormat format) noexcept {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

MetricsObserver::MetricsObserver() : metrics_(std::make_unique<telemetry::DeliveryMetrics>()) {}
MetricsObserver::~MetricsObserver() = default;

telemetry::DeliveryMetrics& telemetry::deliveries_of(MetricsObserver& observer) noexcept {
  return *observer.metrics_;
}

std::string MetricsObserver::text(MetricsFormat format) const {
  return telemetry::exposition(metrics_->families(), format);
}

void MetricsObserver::on_consumer(const ConsumerInfo& consumer) noexcept {
  try {
    metrics_->add(consumer);
  } catch (...) {
  }
}

void MetricsObserver::on_ended(std::string_view consumer, const Delivery& delivery,
                               const Outcome& outcome, std::chrono::nanoseconds took) noexcept {
  count_for(*metrics_, consumer, [&](auto& counters) { counters.ended(delivery, outcome, took); });
}

void MetricsObserver::on_refused(std::string_view consumer, const Arrival& arrival,
                                 std::string_view reason, std::string_view) noexcept {
  count_for(*metrics_, consumer, [&](auto& counters) { counters.refused(arrival, reason); });
}

void MetricsObserver::on_held(std::string_view consumer, const Delivery&) noexcept {
  count_for(*metrics_, consumer, [](auto& counters) { counters.held(); });
}

void MetricsObserver::on_lease_lost(std::string_view consumer, const Delivery&) noexcept {
  count_for(*metrics_, consumer, [](auto& counters) { counters.lease_lost(); });
}

void MetricsObserver::on_letters_expired(std::string_view consumer, std::size_t letters) noexcept {
  count_for(*metrics_, consumer, [&](auto& counters) { counters.letters_expired(letters); });
}

void MetricsObserver::on_trouble(std::string_view consumer, std::string_view where, const Error&,
                                 bool mended) noexcept {
  if (mended) return;
  count_for(*metrics_, consumer, [&](auto& counters) { counters.failed(where); });
}

}  // namespace semel
