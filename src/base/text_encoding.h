// Bytes as text: base64 (RFC 4648, with padding) and base32 in lower case, without padding.
#pragma once

#include <optional>
#include <string>

#include <semel/bytes.h>

namespace semel::text {

std::string base64(BytesView bytes);
// nullopt where `text` is not the canonical base64 spelling, or uses the URL-safe alphabet.
std::optional<Bytes> from_base64(std::string_view text);

// With a-z and 2-7: for names that are valid anywhere, whatever the reader does with case.
std::string base32(BytesView bytes);

}  // namespace semel::text
