#include "compose/reload_check.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "compose/consumer_parts.h"
#include "compose/nats_findings.h"
#include "sources/http/make_http_source.h"

namespace semel::compose {

namespace {

config::Config only(const config::Config& config, const config::Difference& difference) {
  config::Config part = config;
  std::erase_if(part.consumers, [&](const config::ConsumerConfig& consumer) {
    return difference.find(consumer.name) == nullptr;
  });
  return part;
}

Result<void> refuse_short_records(const config::Config& config) {
  for (const LiveHorizon& one : look_horizons(config)) {
    if (one.error) continue;
    auto fine = refuse_too_short(one.consumer, one.retention, one.horizon);
    if (!fine) return fine;
  }
  return {};
}

Result<void> refuse_unable_to_listen(const config::ConsumerConfig& consumer,
                                     const LeavingPorts& leaving) {
  const auto* http = std::get_if<config::HttpSource>(&consumer.source);
  if (http == nullptr) return {};
  auto able = sources::check_http_source(http->spec);
  if (able) return {};
  const Error& error = able.error();
  const bool is_taken = error.kind == ErrorKind::kUnavailable;
  if (is_taken && leaving.contains(http->spec.listen.port)) return {};
  return failure(of_consumer(consumer.name, error));
}

}  // namespace

Result<void> refuse_missing(const Live& live) {
  for (const Live::Checked& checked : live.statements) {
    if (stops_a_run(checked)) return refuse(checked);
  }
  return {};
}

std::optional<std::uint16_t> listen_port(const config::Config& config, std::string_view consumer) {
  const config::ConsumerConfig* const found = config.find(consumer);
  const auto* http = found ? std::get_if<config::HttpSource>(&found->source) : nullptr;
  if (http == nullptr) return std::nullopt;
  return http->spec.listen.port;
}

Result<void> check_consumers(Store& store, const ServiceOptions& options,
                             const config::Config& next, const config::Difference& difference,
                             const LeavingPorts& leaving) {
  const config::Config part = only(next, difference);
  if (part.consumers.empty()) return {};
  for (const config::ConsumerConfig& consumer : part.consumers) {
    ConsumerBuild build;
    build.config = &next;
    build.consumer = &consumer;
    build.store = &store;
    build.options = &options;
    if (auto fine = check_consumer_parts(build); !fine) return fine;
    if (auto able = refuse_unable_to_listen(consumer, leaving); !able) return able;
    if (auto fine = refuse_nats(consumer); !fine) return fine;
  }
  const auto live = look_live(store, part);
  if (!live) return failure(live.error());
  if (auto fine = refuse_missing(*live); !fine) return fine;
  return refuse_short_records(part);
}

}  // namespace semel::compose
