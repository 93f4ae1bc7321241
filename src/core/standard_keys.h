// The keys that standards name: CloudEvents, Idempotency-Key, webhook-id; and the key of a message
// that has none, its body's digest. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/result.h>
#include <semel/spi/delivery.h>

namespace semel::core {

// A key, or nothing where there is none; the text says why what is there cannot be a key.
using FoundKey = tl::expected<std::optional<Bytes>, std::string>;

// Appends `text` so that no other text appended with the same separator looks like it. The escape
// is that of URLs.
void append_escaped(Bytes& out, BytesView text, char separator);

// The value of a header. Given twice with two values it is refused: nobody knows which is meant.
FoundKey only_header(const Headers& headers, std::string_view name);

// The header Idempotency-Key: a structured field's string in quotes, or bare. Both forms of one
// key are one key.
FoundKey idempotency_key(const Headers& headers);
FoundKey webhook_id(const Headers& headers);

// Source and id from the headers of a CloudEvent in binary mode, as HTTP, Kafka and AMQP spell
// them.
FoundKey binary_event_key(const Headers& headers);
// The `type` of such an event; empty where there is none.
std::string event_type(const Headers& headers);
// No two pairs make one key.
Bytes event_key(BytesView source, BytesView id);

enum class EventFormat { kNone, kPerhaps, kStructured, kBatch };
// What the content type says; kPerhaps: nothing, and the body could be a JSON object.
EventFormat event_format(const Arrival& arrival);

// Why such a text can be no key of a standard: "is empty"; nothing where it can.
std::optional<std::string> unfit_key(BytesView text);

Bytes body_key(BytesView payload);
// True for each text that body_key() can give.
bool is_body_key(BytesView text) noexcept;

}  // namespace semel::core
