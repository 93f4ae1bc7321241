// The spans that a collector is sent, read strictly: OTLP over HTTP, in JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/http_server.h"

namespace semel::test {

struct OtlpSpan {
  std::string service;
  std::string trace_id;   // 32 hexadecimal digits
  std::string span_id;    // 16
  std::string parent_id;  // 16; empty: the trace begins here
  std::string trace_state;
  std::string name;
  int kind = 0;
  std::int64_t begin = 0;  // nanoseconds since 1970
  std::int64_t end = 0;
  std::map<std::string, std::string> attributes;
  int status = 0;  // 2: error
  std::string message;

  // The value of an attribute; "(none)".
  std::string operator[](const std::string& attribute) const;
};

struct OtlpRequest {
  std::vector<OtlpSpan> spans;
  std::vector<std::string> flaws;  // deviations from the protocol
};

// The body of one request.
OtlpRequest read_otlp(std::string_view body);

// Everything that was sent to `server` at `/v1/traces`, without repeated spans.
OtlpRequest otlp_of(const HttpServer& server);
// The spans with this name.
std::vector<OtlpSpan> named(const std::vector<OtlpSpan>& spans, std::string_view name);

}  // namespace semel::test
