#include "admin/readiness.h"

#include <algorithm>

#include "base/iso_time.h"
#include "base/json.h"

namespace semel::admin {

namespace {

constexpr const char* kReady = "ready";
constexpr const char* kNotReady = "not_ready";

void add_outages(json::Writer& writer, const std::vector<telemetry::Outage>& outages) {
  writer.name("outages").begin_array();
  for (const telemetry::Outage& outage : outages) {
    writer.begin_object().member("component", outage.component);
    writer.member("since", iso_time(outage.since)).member("error", outage.error).end_object();
  }
  writer.end_array();
}

void add_sources(json::Writer& writer, const std::vector<SourceReadiness>& sources) {
  writer.name("sources").begin_array();
  for (const SourceReadiness& source : sources) {
    writer.begin_object().member("source", source.source).name("figures").begin_array();
    for (const SourceFigure& figure : source.figures) {
      writer.begin_object().member("name", figure.name);
      if (!figure.partition.empty()) writer.member("partition", figure.partition);
      writer.member("value", figure.value);
      if (!figure.text.empty()) writer.member("text", figure.text);
      writer.end_object();
    }
    writer.end_array().end_object();
  }
  writer.end_array();
}

}  // namespace

bool Readiness::ready() const noexcept {
  return phase == Phase::kRunning &&
         std::ranges::all_of(
             consumers, [](const ConsumerReadiness& consumer) { return consumer.health.works(); });
}

const char* Readiness::word() const noexcept {
  if (phase == Phase::kStarting) return "starting";
  if (phase == Phase::kDraining) return "draining";
  return ready() ? kReady : kNotReady;
}

const char* Readiness::word(const ConsumerReadiness& consumer) const noexcept {
  if (phase != Phase::kRunning) return word();
  if (!consumer.phase.empty()) return consumer.phase.c_str();
  return consumer.health.works() ? kReady : kNotReady;
}

std::string Readiness::json() const {
  json::Writer writer;
  writer.begin_object().member("schema", "semel.v1.readiness").member("status", word());
  writer.name("consumers").begin_array();
  for (const ConsumerReadiness& consumer : consumers) {
    writer.begin_object().member("name", consumer.health.consumer);
    writer.member("status", word(consumer));
    if (consumer.health.last_ended) {
      writer.member("last_ended", iso_time(*consumer.health.last_ended));
    }
    add_outages(writer, consumer.health.outages);
    add_sources(writer, consumer.sources);
    writer.end_object();
  }
  writer.end_array();
  if (certificate) {
    writer.name("certificate").begin_object().member("since", iso_time(certificate->since));
    writer.member("code", certificate->error.code).member("error", certificate->error.message);
    writer.end_object();
  }
  writer.end_object();
  return writer.text() + "\n";
}

}  // namespace semel::admin
