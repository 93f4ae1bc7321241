// NatsPublishSpec: the settings of a publisher to NATS JetStream, from its config or from C++.
// Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <semel/message.h>

#include "core/nats_spec.h"
#include "core/pace.h"

namespace semel::core {

struct NatsPublishSpec : NatsAccess {
  std::string subject;  // some stream must take it
  // From the call until the stream's answer; without an answer by then, the answer is retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key = false;  // declared: readers do nothing for a key they have seen
};

// The message's key. A key that a header would change becomes sha256: and its digest; no two keys
// collide.
std::string nats_key_of(const Message& message);
// SUBJECT KEY DIGEST, with the payload's SHA-256 in hex: the same when a message is published
// again. A stream drops repeats of an id whatever their subjects, so the id must contain everything
// that distinguishes two messages: a dropped repeat exists at this subject, with this key and
// payload.
std::string nats_message_id_of(const Message& message, std::string_view subject);
// The message's own headers, its content type, and its key as Idempotency-Key, replacing another
// one; without headers that a server acts upon or that tell of another stream (Nats-…).
Headers nats_headers_of(const Message& message);
// Why NATS cannot carry these headers, in words that follow "the message".
std::optional<std::string> nats_headers_flaw(const Headers& headers);

// Whether `pattern` matches messages published to `subject`; * matches one part, and > all parts
// that are left.
bool nats_subject_takes(std::string_view pattern, std::string_view subject);
// Why nothing can be published to it: as nats_subject_flaw(), it is too long for a server's line,
// or it contains * or >.
std::optional<std::string> nats_publish_subject_flaw(std::string_view subject);

}  // namespace semel::core
