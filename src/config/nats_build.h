// Builds `source.nats:`, and checks it with the rest of its consumer.
#pragma once

#include <string>

#include "config/build.h"

namespace semel::config {

inline bool on_nats(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<NatsSource>(consumer.source);
}

// The part that a handler has too.
void build_nats_access(const View& nats, const std::string& folder, core::NatsAccess& access,
                       Report& report);
// Warns of passwords in a file that others may read.
void warn_of_nats_secrets(const View& nats, const core::NatsAccess& access, Report& report);

core::NatsSpec build_nats(const View& nats, const std::string& folder, Report& report);

// The same for the source.
void check_nats(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
