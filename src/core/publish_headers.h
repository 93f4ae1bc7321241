// The headers of a message that is published again elsewhere. Pure.
#pragma once

#include <semel/message.h>

namespace semel::core {

// The message's own, with the traceparent of what is done on its behalf; content-type where it has
// one; and its key as Idempotency-Key, unless one is among them: what is published again has the
// same.
Headers headers_with_key(const Message& message);

}  // namespace semel::core
