// `source.http:` into its spec, and what it asks of the rest.
#pragma once

#include <string>

#include "config/build.h"
#include "config/check.h"

namespace semel::config {

inline bool on_http(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<HttpSource>(consumer.source);
}

core::HttpSourceSpec build_http_source(const View& http, const std::string& folder, Report& report);

// The mode, where none is said, and what the source takes from its consumer; and the consumer, of
// whom the mode asks that it defers.
void complete_http_source(ConsumerConfig& consumer, const View& view);

// E029: a request has no position. E066: the answer that is asked for cannot be given. W047:
// anybody may send. W034: the sender's requests have none of the standard keys. Secrets in a file
// that others may read.
void check_http_source(const Check& check);

}  // namespace semel::config
