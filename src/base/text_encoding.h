// Bytes as text: base64 (RFC 4648, with padding) and base32 in lower case, without padding.
#pragma once

#include <optional>
#include <string>

#include <semel/bytes.h>

namespace semel::text {

std::string base64(BytesView bytes);
// Nothing where `text` is not the one spelling that base64 gives, or its URL-safe alphabet is used.
std::optional<Bytes> from_base64(std::string_view text);

// Of a-z and 2-7: for names that may stand anywhere, whatever their reader does with case.
std::string base32(BytesView bytes);

}  // namespace semel::text
