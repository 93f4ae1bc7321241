// `source.rabbitmq:` into its spec, and what it asks of the rest.
#pragma once

#include <string>

#include "config/build.h"

namespace semel::config {

inline bool on_rabbitmq(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<RabbitmqSource>(consumer.source);
}

core::RabbitmqSpec build_rabbitmq(const View& rabbitmq, const std::string& folder, Report& report);

// E029: a delivery tag is no key. W044: a timeout past the broker's. Passwords in a file that
// others may read.
void check_rabbitmq(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
