// The headers of a message that is published to another broker. Pure.
#pragma once

#include <semel/message.h>

namespace semel::core {

// The message's own headers; the traceparent of its span; content-type if it has one; and its key
// as Idempotency-Key, unless the message has that header: a message that is published again has the
// same.
Headers headers_with_key(const Message& message);

}  // namespace semel::core
