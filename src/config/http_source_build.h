// Builds `source.http:`, and checks it with the rest of its consumer.
#pragma once

#include <string>

#include "config/build.h"
#include "config/check.h"

namespace semel::config {

inline bool on_http(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<HttpSource>(consumer.source);
}

core::HttpSourceSpec build_http_source(const View& http, const std::string& folder, Report& report);

// Sets the default mode, and completes the source's spec from its consumer; and the consumer, which
// must defer in one mode.
void complete_http_source(ConsumerConfig& consumer, const View& view);

// E029: a request has no position. E066: the configured answer cannot be given. W047: anyone may
// send. W034: the sender's requests have none of the standard keys. Also secrets in a file that
// others may read.
void check_http_source(const Check& check);

}  // namespace semel::config
