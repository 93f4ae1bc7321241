// The settings of the export of spans.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <semel/message.h>

namespace semel::core {

struct TracesSpec {
  std::string url;                            // full URL of a collector's OTLP endpoint over HTTP
  Headers headers;                            // sent with every request
  std::string service = "semel";              // service.name
  double sample = 1.0;                        // of the messages that came without a traceparent
  std::chrono::milliseconds timeout{10'000};  // of one request
  std::size_t queue = 8'192;                  // spans that wait for the collector
  std::string ca_file;  // PEM: trusted in place of the system's; empty: the system's
};

}  // namespace semel::core
