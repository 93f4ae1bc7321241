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
  bool honours_key = false;  // declared: readers do nothing again under a Nats-Msg-Id they know
};

// The message's key: one that is published again has the same. A key that a header would not carry
// as it is becomes sha256: and its digest; no two keys meet.
std::string nats_message_id_of(const Message& message);
// The message's own and its content type, without those that a server acts upon or that tell of
// another stream (Nats-…).
Headers nats_headers_of(const Message& message);
// Why NATS does not carry these headers, in words that follow "the message".
std::optional<std::string> nats_headers_flaw(const Headers& headers);

// Whether what is published to `subject` is among what `pattern` stands for, where * is one part
// and > all parts that are left.
bool nats_subject_takes(std::string_view pattern, std::string_view subject);
// Why nothing can be published to it: as nats_subject_flaw(), and * and > are none.
std::optional<std::string> nats_publish_subject_flaw(std::string_view subject);

}  // namespace semel::core
