// The status of the store and of its consumers, as `semel status` shows it.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "base/iso_time.h"
#include "operate/status.h"
#include "system/utc_clock.h"

namespace semel::admin {

namespace {

using operate::ConsumerStatus;

// Adds this process's own metrics of the consumer.
void add_own(ConsumerStatus& row, const Readiness& readiness) {
  const std::int64_t pid = ::getpid();
  for (const ConsumerReadiness& consumer : readiness.consumers) {
    if (consumer.health.consumer != row.name) continue;
    for (const SourceReadiness& source : consumer.sources) {
      const bool window = source.source == operate::kWindowSource;
      (window ? row.windows : row.sources).push_back({pid, source.source, source.figures});
    }
    operate::HealthView view;
    view.pid = pid;
    view.last_end = consumer.health.last_ended;
    for (const telemetry::Outage& outage : consumer.health.outages) {
      view.troubles.push_back({outage.component, outage.since, outage.error});
    }
    row.health.push_back(std::move(view));
  }
}

Result<ConsumerStatus> consumer_status(const config::ConsumerConfig& consumer,
                                       const StoreStats& stats, const operate::StoreAccess& access,
                                       const ApiSources& sources, const Readiness& readiness) {
  ConsumerStatus row;
  row.name = consumer.name;
  row.source = operate::source_name(consumer.source);
  row.strategy = core::to_string(consumer.strategy);
  row.guarantee = to_string(sources.guarantee(consumer).name);
  add_own(row, readiness);
  const auto counts =
      std::ranges::find(stats.consumers, consumer.name, &StoreStats::Consumer::name);
  const bool known = counts != stats.consumers.end();
  if (known) {
    row.counts = *counts;
    auto gate = access.facets.gates->state(counts->number);
    if (!gate) return failure(std::move(gate.error()));
    row.gate = *std::move(gate);
    const bool hidden = shown_in_lists(sources).errors != core::Disclosure::Errors::kText;
    if (hidden && row.gate && !row.gate->why.empty()) row.gate->why = kNotShown;
  }
  operate::conclude(row, known, system::utc_now());
  return row;
}

HttpResponse status_answer(const operate::StoreAccess& access, const ApiSources& sources) {
  const auto stats = access.facets.records->stats();
  if (!stats) return problem(stats.error());
  operate::Status made = operate::status_of_store(*stats, sources.store_name);
  const Readiness readiness = sources.readiness();
  for (const auto& consumer : access.config.consumers) {
    auto row = consumer_status(consumer, *stats, access, sources, readiness);
    if (!row) return problem(row.error());
    made.consumers.push_back(*std::move(row));
  }
  for (const StoreStats::Consumer& counts : stats->consumers) {
    if (access.config.find(counts.name) != nullptr) continue;
    made.consumers.push_back(operate::removed_consumer(counts, system::utc_now()));
  }
  const auto time = [](StoreTime at) { return iso_time(at); };
  return json_answer(operate::status_document(made, time).text());
}

}  // namespace

namespace api {

HttpResponse show_status(const ApiCall&, const ApiSources& sources) {
  return with_store(
      sources, [&](const operate::StoreAccess& access) { return status_answer(access, sources); });
}

}  // namespace api

}  // namespace semel::admin
