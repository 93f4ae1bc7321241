// Spans as OTLP/JSON: the body of a request to a collector. Pure.
//
// Rules: https://opentelemetry.io/docs/specs/otlp/, "JSON Protobuf Encoding": ids in hexadecimal,
// numbers of 64 bits as texts, enumerations as numbers, names in lower camel case.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <semel/bytes.h>
#include <semel/trace.h>

namespace semel::traces {

// Common to all spans of a process.
struct TracedResource {
  std::string service;   // service.name
  std::string instance;  // service.instance.id: tells runs apart
};

// One request to export traces.
std::string otlp_json(std::span<const Span> spans, const TracedResource& resource);

// The spans that were not taken, as the answer to it says.
struct PartialSuccess {
  std::size_t rejected = 0;
  std::string message;
};
// All were taken where it says nothing else, or cannot be read.
PartialSuccess partial_success(BytesView response);

}  // namespace semel::traces
