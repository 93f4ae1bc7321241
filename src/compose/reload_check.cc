#include "compose/reload_check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compose/consumer_parts.h"
#include "core/retention.h"

namespace semel::compose {

namespace {

config::Config only(const config::Config& config, const config::Difference& difference) {
  config::Config part = config;
  std::erase_if(part.consumers, [&](const config::ConsumerConfig& consumer) {
    return difference.find(consumer.name) == nullptr;
  });
  return part;
}

Result<void> refuse_too_short(const config::Config& config) {
  for (const LiveHorizon& one : look_horizons(config)) {
    if (one.error || one.retention.accepted) continue;
    auto error = core::too_short(one.retention, one.horizon);
    if (!error || error->kind != ErrorKind::kRejected) continue;
    error->message = fmt::format("consumer \"{}\": {}", one.consumer, error->message);
    return failure(*std::move(error));
  }
  return {};
}

}  // namespace

Result<void> refuse_missing(const Live& live) {
  for (const Live::Checked& checked : live.statements) {
    if (stops_a_run(checked)) return refuse(checked);
  }
  return {};
}

Result<void> check_consumers(Store& store, const ServiceOptions& options,
                             const config::Config& next, const config::Difference& difference) {
  const config::Config part = only(next, difference);
  if (part.consumers.empty()) return {};
  for (const config::ConsumerConfig& consumer : part.consumers) {
    ConsumerBuild build;
    build.config = &next;
    build.consumer = &consumer;
    build.store = &store;
    build.options = &options;
    if (auto fine = check_consumer_parts(build); !fine) return fine;
  }
  const auto live = look_live(store, part);
  if (!live) return failure(live.error());
  if (auto fine = refuse_missing(*live); !fine) return fine;
  return refuse_too_short(part);
}

}  // namespace semel::compose
