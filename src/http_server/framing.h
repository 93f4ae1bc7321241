// Whether a request's headers say where it ends, and say it once. A proxy in front that reads them
// in another way would send the rest of one client's request as the beginning of another's
// (RFC 9112, 11.2).
#pragma once

#include <optional>
#include <string>

#include "http_server/http_message.h"

namespace semel::http {

// Why a request cannot be read in one way alone, with the status of its answer.
struct FramingFault {
  int status = 400;
  std::string why;
  std::string fix;
};

// nullopt: there is none. A request without a length has no body (RFC 9112, 6.3).
std::optional<FramingFault> framing_fault(const HttpRequest& request);

}  // namespace semel::http
