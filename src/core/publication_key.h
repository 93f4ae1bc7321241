// The keys of the messages that a handler publishes, for their receivers.
#pragma once

#include <semel/bytes.h>

namespace semel::core {

// The key of the `number`th message, from 1, that a message with `key` publishes to one receiver:
// "order-17", "order-17/2", "order-17/3". A key that itself ends so has a number on each one:
// "orders/2/1", "orders/2/2". No two messages, and no two numbers, share one. Depends on nothing
// that differs between attempts.
Bytes publication_key(BytesView key, int number);

}  // namespace semel::core
