#include "compose/admin_overview.h"

#include <algorithm>

#include <semel/version.h>

#include "system/utc_clock.h"

namespace semel::compose {

namespace {

using admin::ConsumerOverview;

void add_source_figures(ConsumerOverview& one, const GaugeInput& input) {
  bool known = true;
  for (const Service::Figures& source : input.sources) {
    if (source.consumer != one.name) continue;
    one.tells_lag = one.tells_lag || source.tells_lag;
    const auto lag = std::ranges::find_if(source.figures, is_lag);
    if (lag != source.figures.end()) {
      one.lag = one.lag.value_or(0) + lag->value;
    } else {
      known = known && !source.tells_lag;
    }
  }
  if (!known) one.lag.reset();
  const auto found =
      std::ranges::find(input.in_flight, one.name, &std::pair<std::string, std::size_t>::first);
  if (found != input.in_flight.end()) one.in_flight = found->second;
}

void add_stored(ConsumerOverview& one, const GaugeInput& input) {
  if (!input.seen.snapshot) return;
  const StoreStats& stats = input.seen.snapshot->stats;
  const auto found = std::ranges::find(stats.consumers, one.name, &StoreStats::Consumer::name);
  if (found == stats.consumers.end()) return;
  one.held = found->held;
  one.dead_letters = found->dead_letters;
  if (stats.records_counted) {
    one.retrying = found->retrying;
    one.parked = found->parked;
  }
  if (found->oldest_waiting) one.oldest = age_of(*found->oldest_waiting);
}

void add_state(ConsumerOverview& one, const GaugeInput& input, const std::string& phase) {
  const auto health =
      std::ranges::find(input.health, one.name, &telemetry::ConsumerHealth::consumer);
  if (health != input.health.end()) one.outages = health->outages;
  one.state = phase;
  if (phase == "starting" || phase == "draining") return;
  const auto own = input.phases.find(one.name);
  if (own != input.phases.end() && !own->second.empty()) {
    one.state = own->second;
    return;
  }
  one.state = health == input.health.end() || health->works() ? "running" : "failing";
  if (!input.seen.snapshot) return;
  const auto gate = input.seen.snapshot->shut_gates.find(one.name);
  if (gate == input.seen.snapshot->shut_gates.end()) return;
  one.state = gate->second.until ? "breaker open" : "paused";
  one.why = gate->second.why;
}

}  // namespace

admin::Overview overview_of(const GaugeInput& input, const std::vector<ConsumerAbout>& about,
                            const std::string& phase) {
  admin::Overview made;
  made.version = version();
  made.store = input.store;
  made.phase = phase;
  made.now = system::utc_now();
  made.began = input.began;
  for (const ConsumerAbout& words : about) {
    ConsumerOverview one;
    one.name = words.name;
    one.source = words.source;
    one.strategy = words.strategy;
    one.handler = words.handler;
    one.guarantee = words.guarantee;
    add_source_figures(one, input);
    add_stored(one, input);
    add_state(one, input, phase);
    made.consumers.push_back(std::move(one));
  }
  return made;
}

}  // namespace semel::compose
