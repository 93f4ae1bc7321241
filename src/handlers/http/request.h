// Builds a request: its headers, from the message, its key and the attempt.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <semel/attempt.h>
#include <semel/message.h>

#include "core/http_spec.h"

namespace semel::handlers {

// The key as the value of Idempotency-Key: printable ASCII as a structured-field string (RFC 8941),
// or bare. A key with other bytes becomes a structured-field byte sequence, :base64:, in both
// styles; so does a bare one that looks like a byte sequence, or begins or ends with a blank, which
// would be lost. Different keys stay different.
std::string idempotency_key(BytesView key, core::HttpSpec::KeyStyle style);

// The same for every attempt of a key of this consumer; without dots, as Standard Webhooks
// requires.
std::string webhook_id(std::string_view consumer, BytesView key);

// Control and non-ASCII bytes as %XX, so that nothing in it ends the header.
std::string field_value(BytesView value);

// Thread-safe.
class RequestPlan {
 public:
  // The parts of `spec` must be valid.
  explicit RequestPlan(const core::HttpSpec& spec);

  // The body of the request.
  BytesView body(const Message& message) const noexcept;
  // In the order of sending. `now` is the machine's time.
  Headers headers(const Message& message, const Attempt& attempt,
                  std::chrono::system_clock::time_point now) const;

 private:
  void pass_on(const Message& message, Headers& made) const;
  std::string signature(std::string_view id, std::string_view timestamp, BytesView payload) const;

  std::string consumer_;
  std::string source_;
  bool has_body_;
  bool every_header_;
  core::HttpSpec::KeyStyle key_style_;
  Headers fixed_;
  std::vector<Bytes> signing_keys_;
};

}  // namespace semel::handlers
