// How a delivery ended, as text and as JSON: the same shape in `run` and in `tap`.
#pragma once

#include <string>
#include <string_view>

#include <semel/bytes.h>

#include "base/json.h"
#include "cli/console.h"
#include "tap/delivery_event.h"

namespace semel::cli {

// Characters of a key that a line shows.
inline constexpr std::size_t kDeliveryKeyShown = 64;

struct DeliveryDetail {
  bool attempt = false;
  bool place = false;  // show the position in the source
};
// The key, or the position in the source; then `outcome` and any details.
std::string delivery_text(const Console& console, const tap::EndingView& ending,
                          std::string_view outcome, DeliveryDetail detail);

// Adds the members of the delivery's document.
void add_delivery(json::Writer& writer, const Console& console, const tap::EndingView& ending);

enum class Body { kNone, kJson, kHex };
// Adds `payload_json`; if the payload is not JSON, `payload` or `payload_base64`; for kHex
// `payload_hex`.
void add_payload(json::Writer& writer, BytesView payload, Body body);
std::string payload_text(BytesView payload, Body body);

}  // namespace semel::cli
