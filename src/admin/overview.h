// Overview: the data of the dashboard's first page.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/iso_time.h"
#include "telemetry/delivery_history.h"
#include "telemetry/health_observer.h"

namespace semel::admin {

struct ConsumerOverview {
  std::string name;
  std::string source;     // "kafka"
  std::string strategy;   // "dedup_table"
  std::string handler;    // "sql"
  std::string guarantee;  // "transactional"
  // "running", "paused", "breaker open", "failing", "starting", "draining", "drained"
  std::string state;
  std::string why;  // of a pause or an open breaker
  std::vector<telemetry::Outage> outages;
  std::size_t in_flight = 0;
  bool tells_lag = false;           // a source reports its lag whenever it is known
  std::optional<std::int64_t> lag;  // nullopt: unknown
  // In the store, for all processes; nullopt: not known yet, or not counted by the store.
  std::optional<std::size_t> retrying, parked, held, dead_letters;
  std::optional<std::chrono::milliseconds> oldest;  // of the longest wait; nullopt: nothing waits
  std::vector<telemetry::GroupCounts> intervals;    // oldest first
};

struct Overview {
  std::string version;
  std::string store;  // "sqlite"
  std::string phase;  // "starting", "ready", "not_ready", "draining"
  UtcTime now;
  UtcTime began;
  std::vector<ConsumerOverview> consumers;
};

// The whole page. All text from outside is escaped.
std::string overview_page(const Overview& overview);

// Resources of the page, at style.css and page.js.
std::string_view page_style() noexcept;
std::string_view page_script() noexcept;

}  // namespace semel::admin
