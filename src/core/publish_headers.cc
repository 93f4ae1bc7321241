#include "core/publish_headers.h"

#include <string>
#include <string_view>

#include "core/trace_context.h"

namespace semel::core {

Headers headers_with_key(const Message& message) {
  constexpr std::string_view kIdempotencyKey = "Idempotency-Key";
  constexpr std::string_view kContentType = "content-type";
  Headers made = outgoing_headers(message);
  if (!message.content_type().empty() && !find_header(made, kContentType)) {
    made.push_back({std::string(kContentType), message.content_type()});
  }
  if (!find_header(made, kIdempotencyKey)) {
    made.push_back({std::string(kIdempotencyKey), message.key().text});
  }
  return made;
}

}  // namespace semel::core
