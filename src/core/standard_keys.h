// The keys that standards define: CloudEvents, Idempotency-Key, webhook-id; and the body's digest,
// the key of a message that has none. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/result.h>
#include <semel/spi/delivery.h>

namespace semel::core {

// A key, or nullopt where there is none; the error says why a value cannot be a key.
using FoundKey = tl::expected<std::optional<Bytes>, std::string>;

// Appends `text`, escaped as in URLs, so that different texts stay different behind the same
// separator.
void append_escaped(Bytes& out, BytesView text, char separator);

// The value of a header. Two different values are refused: it is unclear which is meant.
FoundKey only_header(const Headers& headers, std::string_view name);

// The header Idempotency-Key: a structured field's string in quotes, or bare. Both forms give the
// same key.
FoundKey idempotency_key(const Headers& headers);
FoundKey webhook_id(const Headers& headers);

// Source and id from the headers of a CloudEvent in binary mode, as HTTP, Kafka and AMQP spell
// them.
FoundKey binary_event_key(const Headers& headers);
// The `type` of such an event; empty where there is none.
std::string event_type(const Headers& headers);
// Different pairs make different keys.
Bytes event_key(BytesView source, BytesView id);

enum class EventFormat { kNone, kPerhaps, kStructured, kBatch };
// The format by the content type; kPerhaps: that says nothing, and the body could be a JSON object.
EventFormat event_format(const Arrival& arrival);

// Why a text cannot be a key of a standard: "is empty"; nullopt where it can.
std::optional<std::string> unfit_key(BytesView text);

Bytes body_key(BytesView payload);
// True for every text that body_key() can return.
bool is_body_key(BytesView text) noexcept;

}  // namespace semel::core
