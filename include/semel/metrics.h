// MetricsObserver: counts what consumers do, in the text formats that Prometheus reads.
//
//   semel::MetricsObserver metrics;
//   runner.observe(metrics);
//   … answer GET /metrics with metrics.text(semel::MetricsFormat::kPrometheus)
//
// docs/monitoring.md lists the metrics, and which of them an observer cannot see: those of the
// store (takeovers, swept records, stuck leases, replays), of the sources and of the process are
// served by a run with `admin:` alone. No label grows with the data: labels are consumers, sources,
// outcomes and reasons.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <semel/observer.h>

namespace semel {

enum class MetricsFormat {
  kPrometheus,   // text format 0.0.4
  kOpenMetrics,  // 1.0.0
};
// The Content-Type of a response in that format.
std::string_view content_type(MetricsFormat format) noexcept;

class MetricsObserver;

namespace telemetry {
class DeliveryMetrics;
// For the parts of Semel that add metrics of their own.
DeliveryMetrics& deliveries_of(MetricsObserver& observer) noexcept;
}  // namespace telemetry

// Thread-safe. An observation takes no lock, except for dead letters and outages.
class MetricsObserver final : public Observer {
 public:
  MetricsObserver();
  ~MetricsObserver() override;

  // The metrics of every consumer observed so far. May throw std::bad_alloc.
  std::string text(MetricsFormat format) const;

  void on_consumer(const ConsumerInfo& consumer) noexcept override;
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;
  void on_held(std::string_view consumer, const Delivery& delivery) noexcept override;
  void on_lease_lost(std::string_view consumer, const Delivery& delivery) noexcept override;
  void on_letters_expired(std::string_view consumer, std::size_t letters) noexcept override;
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override;

 private:
  friend telemetry::DeliveryMetrics& telemetry::deliveries_of(MetricsObserver& observer) noexcept;

  const std::unique_ptr<telemetry::DeliveryMetrics> metrics_;
};

}  // namespace semel
