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

// The spans that were rejected, according to the answer.
struct PartialSuccess {
  std::size_t rejected = 0;
  std::string message;
};
// All were accepted if it does not say otherwise, or cannot be parsed.
PartialSuccess partial_success(BytesView response);

}  // namespace semel::traces
