#include "telemetry/delivery_metrics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

namespace semel::telemetry {

namespace {

struct Snapshot {
  std::string name;
  std::array<std::string, ConsumerCounters::kSources> source_names;
  const ConsumerInfo* info;
  std::optional<std::chrono::milliseconds> ttl;
  ConsumerCounters::Totals totals;
};

Snapshot snapshot_of(const ConsumerCounters& counters) {
  Snapshot made{counters.name(), {}, &counters.info(), counters.ttl(), counters.totals()};
  const auto& names = counters.info().sources;
  for (std::size_t i = 0; i < ConsumerCounters::kSources; ++i) {
    made.source_names[i] = i < names.size() ? names[i] : std::to_string(i);
  }
  return made;
}

MetricFamily family(std::string name, MetricType type, std::string help) {
  return {std::move(name), std::move(help), type, {}};
}

Labels label_of(const Snapshot& one) { return {{"consumer", one.name}}; }

MetricFamily deliveries(const std::vector<Snapshot>& all) {
  auto made = family("semel_deliveries", MetricType::kCounter,
                     "Deliveries that ended, by outcome. Redeliveries count again.");
  for (const Snapshot& one : all) {
    for (std::size_t source = 0; source < ConsumerCounters::kSources; ++source) {
      // All outcomes of a known source, so that a rate has a zero to start from.
      const bool known = source < one.info->sources.size();
      for (std::size_t kind = 0; kind < ConsumerCounters::kOutcomes; ++kind) {
        const std::uint64_t count = one.totals.deliveries[source][kind];
        if (count == 0 && !known) continue;
        made.samples.push_back({{{"consumer", one.name},
                                 {"source", one.source_names[source]},
                                 {"outcome", to_string(static_cast<Outcome::Kind>(kind))}},
                                static_cast<double>(count),
                                {}});
      }
    }
  }
  return made;
}

template <class Value>
MetricFamily by_consumer(const std::vector<Snapshot>& all, std::string name, MetricType type,
                         std::string help, Value&& value) {
  auto made = family(std::move(name), type, std::move(help));
  for (const Snapshot& one : all) {
    made.samples.push_back({label_of(one), static_cast<double>(value(one)), {}});
  }
  return made;
}

MetricFamily histogram(const std::vector<Snapshot>& all, std::string name, std::string help,
                       HistogramValue ConsumerCounters::Totals::*which) {
  auto made = family(std::move(name), MetricType::kHistogram, std::move(help));
  for (const Snapshot& one : all) made.samples.push_back({label_of(one), 0, one.totals.*which});
  return made;
}

MetricFamily by_word(const std::vector<Snapshot>& all, std::string name, std::string help,
                     const char* label,
                     std::map<std::string, std::uint64_t> ConsumerCounters::Totals::*which) {
  auto made = family(std::move(name), MetricType::kCounter, std::move(help));
  for (const Snapshot& one : all) {
    for (const auto& [word, count] : one.totals.*which) {
      made.samples.push_back(
          {{{"consumer", one.name}, {label, word}}, static_cast<double>(count), {}});
    }
  }
  return made;
}

// A consumer that keeps its records for ever has no sample.
MetricFamily ttl(const std::vector<Snapshot>& all) {
  auto made = family("semel_dedup_ttl_seconds", MetricType::kGauge,
                     "How long a finished record is kept at least.");
  for (const Snapshot& one : all) {
    if (!one.ttl) continue;
    made.samples.push_back(
        {label_of(one), static_cast<double>(one.ttl->count()) / kMillisecondsPerSecond, {}});
  }
  return made;
}

}  // namespace

struct DeliveryMetrics::Node {
  explicit Node(ConsumerInfo info, Node* before) : counters(std::move(info)), next(before) {}
  ConsumerCounters counters;
  Node* const next;
};

DeliveryMetrics::~DeliveryMetrics() {
  for (Node* node = newest_.load(); node != nullptr;) delete std::exchange(node, node->next);
}

ConsumerCounters* DeliveryMetrics::find(std::string_view consumer) const noexcept {
  for (Node* node = newest_.load(std::memory_order_acquire); node != nullptr; node = node->next) {
    if (node->counters.name() == consumer) return &node->counters;
  }
  return nullptr;
}

void DeliveryMetrics::add(const ConsumerInfo& consumer) {
  const system::MutexLock lock(mutex_);
  if (ConsumerCounters* const known = find(consumer.name)) {
    const ConsumerInfo& before = known->info();
    known->set_ttl(consumer.ttl);
    if (before.sources == consumer.sources && before.handler == consumer.handler) return;
  }
  newest_.store(new Node(consumer, newest_.load()), std::memory_order_release);
}

ConsumerCounters& DeliveryMetrics::of(std::string_view consumer) {
  if (ConsumerCounters* found = find(consumer)) return *found;
  add({std::string(consumer), {}, {}, {}});
  return *find(consumer);
}

std::shared_ptr<HandlerDurations> DeliveryMetrics::handler(const std::string& consumer,
                                                           std::string_view kind) {
  const system::MutexLock lock(mutex_);
  auto& durations = handlers_[{consumer, std::string(kind)}];
  if (durations == nullptr) durations = std::make_shared<HandlerDurations>();
  return durations;
}

// A handler whose calls are not measured has no samples.
MetricFamily DeliveryMetrics::handler_family() const {
  auto made = family("semel_handler_duration_seconds", MetricType::kHistogram,
                     "Calls of the handler, by its verdict.");
  const system::MutexLock lock(mutex_);
  for (const auto& [handler, durations] : handlers_) {
    const auto& [consumer, kind] = handler;
    for (std::size_t i = 0; i < HandlerDurations::kOutcomes.size(); ++i) {
      made.samples.push_back(
          {{{"consumer", consumer}, {"handler", kind}, {"outcome", HandlerDurations::kOutcomes[i]}},
           0,
           histogram_of(durations->calls(i), kMicrosecondsPerSecond)});
    }
  }
  return made;
}

std::vector<const ConsumerCounters*> DeliveryMetrics::all() const {
  std::vector<const ConsumerCounters*> found;
  for (Node* node = newest_.load(std::memory_order_acquire); node != nullptr; node = node->next) {
    const auto name = [](const ConsumerCounters* one) -> const std::string& { return one->name(); };
    // One with other sources existed before it.
    if (std::ranges::find(found, node->counters.name(), name) != found.end()) continue;
    found.push_back(&node->counters);
  }
  std::ranges::reverse(found);
  return found;
}

std::vector<std::pair<std::string, DeliveryMetrics::Outcomes>> DeliveryMetrics::outcomes() const {
  std::vector<std::pair<std::string, Outcomes>> made;
  for (const ConsumerCounters* counters : all()) {
    Outcomes sums{};
    for (const auto& source : counters->totals().deliveries) {
      for (std::size_t kind = 0; kind < sums.size(); ++kind) sums[kind] += source[kind];
    }
    made.emplace_back(counters->name(), sums);
  }
  return made;
}

std::vector<MetricFamily> DeliveryMetrics::families() const {
  std::vector<Snapshot> all;
  for (const ConsumerCounters* counters : this->all()) all.push_back(snapshot_of(*counters));
  using Totals = ConsumerCounters::Totals;
  std::vector<MetricFamily> made;
  made.push_back(deliveries(all));
  made.push_back(by_consumer(all, "semel_effects", MetricType::kCounter,
                             "Messages whose effect happened, each once.",
                             [](const Snapshot& one) { return one.totals.effects; }));
  made.push_back(by_word(all, "semel_dead_letters", "Messages given up, by reason.", "reason",
                         &Totals::dead_letters));
  made.push_back(by_consumer(all, "semel_held", MetricType::kCounter,
                             "Deliveries kept in the store for later and settled at their source.",
                             [](const Snapshot& one) { return one.totals.held; }));
  made.push_back(by_consumer(all, "semel_leases_lost", MetricType::kCounter,
                             "Work whose lease had ended before it was recorded.",
                             [](const Snapshot& one) { return one.totals.leases_lost; }));
  made.push_back(by_word(all, "semel_outages", "Times the store or a source became unavailable.",
                         "component", &Totals::outages));
  made.push_back(by_consumer(all, "semel_messages_given_up", MetricType::kCounter,
                             "Messages that became dead letters.",
                             [](const Snapshot& one) { return one.totals.given_up; }));
  made.push_back(by_consumer(all, "semel_dead_letters_expired", MetricType::kCounter,
                             "Dead letters removed because they were past their time.",
                             [](const Snapshot& one) { return one.totals.letters_expired; }));
  made.push_back(by_consumer(all, "semel_duplicates_near_ttl", MetricType::kCounter,
                             "Duplicates that came after most of their record's ttl had passed.",
                             [](const Snapshot& one) { return one.totals.duplicates_near_ttl; }));
  made.push_back(by_consumer(all, "semel_too_old", MetricType::kCounter,
                             "Messages without a record that were older than records are kept.",
                             [](const Snapshot& one) { return one.totals.too_old; }));
  made.push_back(histogram(all, "semel_delivery_duration_seconds",
                           "From receiving a delivery to its recorded end.", &Totals::duration));
  made.push_back(handler_family());
  made.push_back(histogram(all, "semel_attempts", "Which attempt of the handler ended a delivery.",
                           &Totals::attempts));
  made.push_back(histogram(all, "semel_message_age_seconds",
                           "Age of a message by its broker's timestamp when its delivery ended.",
                           &Totals::message_age));
  made.push_back(histogram(all, "semel_duplicate_age_seconds",
                           "How long before a duplicate its effect had been recorded.",
                           &Totals::duplicate_age));
  made.push_back(ttl(all));
  return made;
}

}  // namespace semel::telemetry
