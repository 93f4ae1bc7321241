#include "compose/admin_gauges.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <semel/version.h>

#include "core/oldest_figure.h"
#include "engine/engine.h"
#include "system/utc_clock.h"

namespace semel::compose {

namespace {

using telemetry::Labels;
using telemetry::MetricFamily;
using telemetry::MetricType;

constexpr std::string_view kLag = "lag";

class GaugeList {
 public:
  void add(const char* name, const char* help, Labels labels, double value) {
    auto found = std::ranges::find(families_, name, &MetricFamily::name);
    if (found == families_.end()) {
      families_.push_back({name, help, MetricType::kGauge, {}});
      found = std::prev(families_.end());
    }
    found->samples.push_back({std::move(labels), value, {}});
  }
  std::vector<MetricFamily> take() { return std::move(families_); }

 private:
  std::vector<MetricFamily> families_;
};

double seconds(UtcTime time) {
  return static_cast<double>(time.time_since_epoch().count()) / telemetry::kMillisecondsPerSecond;
}

bool is_run(const GaugeInput& input, std::string_view consumer) {
  return std::ranges::find(input.health, consumer, &telemetry::ConsumerHealth::consumer) !=
         input.health.end();
}

void add_health(GaugeList& gauges, const GaugeInput& input) {
  for (const telemetry::ConsumerHealth& one : input.health) {
    const auto phase = input.phases.find(one.consumer);
    const bool runs = phase == input.phases.end() || phase->second.empty();
    const bool up = input.running && runs && one.works();
    gauges.add("semel_consumer_up", "1 while the consumer runs and no outage lasts.",
               {{"consumer", one.consumer}}, up ? 1 : 0);
  }
  for (const telemetry::ConsumerHealth& one : input.health) {
    if (!one.last_ended) continue;
    gauges.add("semel_last_delivery_timestamp_seconds", "When a delivery last ended.",
               {{"consumer", one.consumer}}, seconds(*one.last_ended));
  }
}

void add_in_flight(GaugeList& gauges, const GaugeInput& input) {
  for (const auto& [consumer, deliveries] : input.in_flight) {
    gauges.add("semel_in_flight", "Deliveries received and not settled.", {{"consumer", consumer}},
               static_cast<double>(deliveries));
  }
}

void add_sources(GaugeList& gauges, const GaugeInput& input) {
  for (const Service::Figures& source : input.sources) {
    for (const SourceFigure& figure : source.figures) {
      const bool lag = is_lag(figure);
      if (!lag && figure.name != core::kOldestFigure) continue;
      gauges.add(lag ? "semel_source_lag_messages" : "semel_source_oldest_seconds",
                 lag ? "Messages at the source that are not settled."
                     : "Age, by its timestamp, of the oldest message received and not settled.",
                 {{"consumer", source.consumer}, {"source", source.source}},
                 static_cast<double>(figure.value));
    }
  }
}

void add_records(GaugeList& gauges, const StoreStats::Consumer& consumer) {
  const auto records = [&](const char* state, std::size_t count) {
    gauges.add("semel_records", "Unfinished records in the store, by state.",
               {{"consumer", consumer.name}, {"state", state}}, static_cast<double>(count));
  };
  records("consuming", consumer.consuming);
  records("retrying", consumer.retrying);
  records("parked", consumer.parked);
  records("dead", consumer.dead);
  gauges.add("semel_leases_stuck",
             "Records whose lease ended without a recorded end of their work.",
             {{"consumer", consumer.name}}, static_cast<double>(consumer.stuck));
}

void add_store(GaugeList& gauges, const GaugeInput& input) {
  if (input.running && input.seen.reachable) {
    gauges.add("semel_store_up", "1 when the store answered the last question about its state.",
               {{"store", input.store}}, *input.seen.reachable ? 1 : 0);
  }
  if (!input.seen.snapshot) return;
  const StoreSnapshot& snapshot = *input.seen.snapshot;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - input.seen.at;
  gauges.add("semel_store_look_age_seconds", "Age of the metrics that come from the store.",
             {{"store", input.store}}, since.count());
  if (snapshot.stats.bytes > 0) {
    gauges.add("semel_store_bytes", "Size of the store.", {{"store", input.store}},
               static_cast<double>(snapshot.stats.bytes));
  }
  for (const StoreStats::Consumer& consumer : snapshot.stats.consumers) {
    if (!is_run(input, consumer.name)) continue;
    const Labels labels{{"consumer", consumer.name}};
    if (snapshot.stats.records_counted) add_records(gauges, consumer);
    gauges.add("semel_held_messages", "Messages in the store that wait for their turn.", labels,
               static_cast<double>(consumer.held));
    gauges.add("semel_dead_letters_stored", "Dead letters in the store.", labels,
               static_cast<double>(consumer.dead_letters));
    // The gauge is left out if the store would have to read all letters to find the oldest one.
    if (consumer.dead_letters == 0 || consumer.oldest_dead_letter) {
      std::chrono::duration<double> age{0};
      if (consumer.oldest_dead_letter) age = age_of(*consumer.oldest_dead_letter);
      gauges.add("semel_dead_letter_oldest_seconds",
                 "Age of the oldest dead letter in the store; 0 where there is none.", labels,
                 age.count());
    }
    std::chrono::duration<double> oldest{0};
    if (consumer.oldest_waiting) oldest = age_of(*consumer.oldest_waiting);
    gauges.add("semel_oldest_waiting_seconds",
               "Age of the oldest unfinished message; 0 where none waits.", labels, oldest.count());
    const auto gate = snapshot.shut_gates.find(consumer.name);
    const bool shut = gate != snapshot.shut_gates.end();
    gauges.add("semel_consumer_paused", "1 while a person has paused the consumer.", labels,
               shut && !gate->second.until ? 1 : 0);
    gauges.add("semel_breaker_open", "1 while calls wait because the other end fails.", labels,
               shut && gate->second.until ? 1 : 0);
  }
}

}  // namespace

std::chrono::milliseconds age_of(StoreTime time) {
  return std::max(system::utc_now() - time, std::chrono::milliseconds(0));
}

bool is_lag(const SourceFigure& figure) noexcept {
  return figure.name == kLag && figure.partition.empty();
}

admin::Backlog backlog_of(const GaugeInput& input, std::string_view consumer) {
  if (!is_run(input, consumer)) return {};
  admin::Backlog backlog{true, std::nullopt};
  // A store without statistics answers, but has no snapshot.
  if (!input.running || !input.seen.reachable) return backlog;
  if (!input.seen.snapshot && !*input.seen.reachable) return backlog;
  std::int64_t messages = 0;
  for (const Service::Figures& source : input.sources) {
    if (source.consumer != consumer || !source.tells_lag) continue;
    const auto lag = std::ranges::find_if(source.figures, is_lag);
    if (lag == source.figures.end()) return backlog;
    messages += lag->value;
  }
  if (input.seen.snapshot) {
    for (const StoreStats::Consumer& one : input.seen.snapshot->stats.consumers) {
      if (one.name == consumer) messages += static_cast<std::int64_t>(one.held);
    }
  }
  backlog.messages = messages;
  return backlog;
}

std::vector<MetricFamily> gauges_of(const GaugeInput& input) {
  GaugeList gauges;
  gauges.add("semel_build_info", "1, with the version.", {{"version", version()}}, 1);
  gauges.add("process_start_time_seconds", "When the process began.", {}, seconds(input.began));
  add_health(gauges, input);
  add_in_flight(gauges, input);
  add_sources(gauges, input);
  add_store(gauges, input);
  return gauges.take();
}

std::vector<MetricFamily> reload_families(const admin::ReloadState& state) {
  using Last = admin::ReloadState::Last;
  GaugeList gauges;
  gauges.add(
      "semel_config_last_reload_successful",
      "1 unless the last reload was refused: then the file differs from the config in effect.", {},
      state.last == Last::kRefused ? 0 : 1);
  gauges.add("semel_config_last_reload_success_timestamp_seconds",
             "When the config in effect was taken up, by a reload or at the start.", {},
             seconds(state.taken_at));
  std::vector<MetricFamily> made = gauges.take();
  made.push_back({"semel_config_reloads",
                  "Reloads, by result: taken or refused.",
                  MetricType::kCounter,
                  {{{{"result", "taken"}}, static_cast<double>(state.taken), {}},
                   {{{"result", "refused"}}, static_cast<double>(state.refused), {}}}});
  return made;
}

}  // namespace semel::compose
