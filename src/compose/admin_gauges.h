// Gauges of a run at the time of a scrape: its store, its sources, its outages.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/admin_server.h"
#include "base/iso_time.h"
#include "compose/compose.h"
#include "compose/store_look.h"
#include "telemetry/health_observer.h"
#include "telemetry/metric_family.h"

namespace semel::compose {

struct GaugeInput {
  std::string store;  // "sqlite"
  UtcTime began;      // of the process
  bool running = false;
  std::vector<telemetry::ConsumerHealth> health;
  std::vector<Service::Figures> sources;
  std::vector<std::pair<std::string, std::size_t>> in_flight;  // by consumer
  StoreLook::Seen seen;
  // By consumer: "starting", "draining", "drained"; empty: it runs.
  std::map<std::string, std::string, std::less<>> phases;
};

// From `time`, by the store's clock, until now by this machine's; zero where they disagree.
std::chrono::milliseconds age_of(StoreTime time);

// Whether it is the lag of a whole source.
bool is_lag(const SourceFigure& figure) noexcept;

// Messages that wait: in the store, for all processes, and at the source as far as this process
// knows. Unknown before the run, after it, and until store and source have answered once.
admin::Backlog backlog_of(const GaugeInput& input, std::string_view consumer);

std::vector<telemetry::MetricFamily> gauges_of(const GaugeInput& input);

// The results of reloads.
std::vector<telemetry::MetricFamily> reload_families(const admin::ReloadState& state);

}  // namespace semel::compose
