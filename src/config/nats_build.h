// `source.nats:` into its spec, and what it asks of the rest.
#pragma once

#include <string>

#include "config/build.h"

namespace semel::config {

inline bool on_nats(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<NatsSource>(consumer.source);
}

core::NatsSpec build_nats(const View& nats, const std::string& folder, Report& report);

// Passwords in a file that others may read.
void check_nats(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
