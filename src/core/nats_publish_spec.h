// NatsPublishSpec: a publisher to NATS JetStream as its config or a program describes it. Pure.
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
  std::string subject;  // a stream has to take it
  // From the call until the stream's answer: what has none by then is answered retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key = false;  // declared: readers do nothing again under a key they know
};

// The message's key. One that a header would not carry as it is becomes sha256: and its digest; no
// two keys meet.
std::string nats_key_of(const Message& message);
// SUBJECT KEY DIGEST, with the payload's SHA-256 in hex: one that is published again has the same.
// A stream drops by it whatever the subject is, so an id has to say all that tells two messages
// apart: what was dropped as a repeat is there, at this subject, with this key and this payload.
std::string nats_message_id_of(const Message& message, std::string_view subject);
// The message's own, its content type, and its key as Idempotency-Key in the place of another one;
// without those that a server acts upon or that tell of another stream (Nats-…).
Headers nats_headers_of(const Message& message);
// Why NATS does not carry these headers, in words that follow "the message".
std::optional<std::string> nats_headers_flaw(const Headers& headers);

// Whether what is published to `subject` is among what `pattern` stands for, where * is one part
// and > all parts that are left.
bool nats_subject_takes(std::string_view pattern, std::string_view subject);
// Why nothing can be published to it: as nats_subject_flaw(), it is too long for a server's line,
// and
// * and > are none.
std::optional<std::string> nats_publish_subject_flaw(std::string_view subject);

}  // namespace semel::core
