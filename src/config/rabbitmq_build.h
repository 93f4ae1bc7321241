// Builds `source.rabbitmq:`, and checks it with the rest of its consumer.
#pragma once

#include <string>

#include "config/build.h"

namespace semel::config {

inline bool on_rabbitmq(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<RabbitmqSource>(consumer.source);
}

// The settings of a connection: url, tls, heartbeat.
void build_rabbitmq_access(const View& rabbitmq, const std::string& folder,
                           core::RabbitmqAccess& access, Report& report);
// Warns of a password written in the file itself.
void warn_of_rabbitmq_password(const View& rabbitmq, Report& report);

core::RabbitmqSpec build_rabbitmq(const View& rabbitmq, const std::string& folder, Report& report);

// E029: a delivery tag is no key. W044: a timeout beyond the broker's. Also passwords in a file
// that others may read.
void check_rabbitmq(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
