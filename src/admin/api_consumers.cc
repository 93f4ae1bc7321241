// Consumers: their state and their backlog.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "admin/api_route.h"
#include "admin/problem.h"
#include "base/iso_time.h"
#include "base/json.h"
#include "base/printable.h"
#include "operate/views.h"

namespace semel::admin {

namespace {

void add_count(json::Writer& writer, std::string_view name,
               const std::optional<std::size_t>& count) {
  writer.name(name);
  if (count) {
    writer.value(*count);
  } else {
    writer.null();
  }
}

// Leaves the object open.
void add_consumer(json::Writer& writer, const ConsumerOverview& consumer) {
  writer.begin_object().member("name", consumer.name).member("source", consumer.source);
  writer.member("strategy", consumer.strategy).member("handler", consumer.handler);
  writer.member("guarantee", consumer.guarantee).member("state", consumer.state);
  if (!consumer.why.empty()) writer.member("why", consumer.why);
  writer.member("in_flight", consumer.in_flight).name("lag");
  if (consumer.lag) {
    writer.value(*consumer.lag);
  } else {
    writer.null();
  }
  add_count(writer, "retrying", consumer.retrying);
  add_count(writer, "parked", consumer.parked);
  add_count(writer, "held", consumer.held);
  add_count(writer, "dead_letters", consumer.dead_letters);
  if (consumer.oldest) writer.member("oldest_waits_ms", consumer.oldest->count());
  writer.name("outages").begin_array();
  for (const telemetry::Outage& outage : consumer.outages) {
    writer.begin_object().member("component", outage.component);
    writer.member("since", iso_time(outage.since)).member("error", outage.error).end_object();
  }
  writer.end_array();
}

void add_guarantee_of(json::Writer& writer, const Guarantee& kept) {
  writer.name("promise").begin_object().member("effect", to_string(kept.effect));
  writer.member("loss", to_string(kept.loss)).member("faults", kept.faults);
  writer.member("until", kept.until).name("reasons").begin_array();
  for (const std::string& reason : kept.reasons) writer.value(reason);
  writer.end_array().end_object();
}

void add_reported(json::Writer& writer, const Readiness& readiness, std::string_view name) {
  writer.name("sources").begin_array();
  for (const ConsumerReadiness& consumer : readiness.consumers) {
    if (consumer.health.consumer != name) continue;
    for (const SourceReadiness& source : consumer.sources) {
      writer.begin_object().member("source", source.source).name("figures").begin_array();
      for (const SourceFigure& figure : source.figures) {
        writer.begin_object().member("name", figure.name);
        if (!figure.partition.empty()) writer.member("partition", figure.partition);
        writer.member("value", figure.value).end_object();
      }
      writer.end_array().end_object();
    }
  }
  writer.end_array();
}

HttpResponse no_consumer(const ApiSources& sources, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& consumer : sources.config->consumers) names.push_back(consumer.name);
  return not_found(fmt::format("there is no consumer \"{}\"", printable_text(name)),
                   fmt::format("there are {}", fmt::join(names, ", ")));
}

}  // namespace

namespace api {

HttpResponse list_consumers(const ApiCall&, const ApiSources& sources) {
  const Overview overview = sources.overview();
  json::Writer writer = operate::document("consumers");
  writer.member("status", overview.phase).member("store", overview.store);
  writer.name("consumers").begin_array();
  for (const ConsumerOverview& consumer : overview.consumers) {
    add_consumer(writer, consumer);
    writer.end_object();
  }
  writer.end_array().end_object();
  return json_answer(writer.text());
}

HttpResponse show_consumer(const ApiCall& call, const ApiSources& sources) {
  const std::string& name = call.path.front();
  const Overview overview = sources.overview();
  const auto found = std::ranges::find(overview.consumers, name, &ConsumerOverview::name);
  const config::ConsumerConfig* const config = sources.config->find(name);
  if (found == overview.consumers.end() || config == nullptr) return no_consumer(sources, name);
  json::Writer writer = operate::document("consumer");
  writer.name("consumer");
  add_consumer(writer, *found);
  // A C++ handler sets its own strategy, and thereby its guarantee.
  if (!found->guarantee.empty()) add_guarantee_of(writer, sources.guarantee(*config));
  add_reported(writer, sources.readiness(), name);
  writer.end_object().end_object();
  return json_answer(writer.text());
}

HttpResponse show_backlog(const ApiCall& call, const ApiSources& sources) {
  const std::string& name = call.path.front();
  const Backlog backlog = sources.backlog(name);
  if (!backlog.is_consumer) return no_consumer(sources, name);
  // A scaler would read a zero as an empty backlog.
  if (!backlog.messages) {
    return problem(503, {ErrorKind::kUnavailable, "R345", "the backlog is not known now", {}});
  }
  json::Writer writer = operate::document("backlog");
  writer.member("consumer", name).member("backlog", *backlog.messages).end_object();
  return json_answer(writer.text());
}

}  // namespace api

}  // namespace semel::admin
