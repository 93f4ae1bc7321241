// The key at a JSON pointer: one rule for the intake and for json_at.
#pragma once

#include <optional>
#include <string_view>

#include <semel/bytes.h>
#include <semel/result.h>

#include "base/json.h"

namespace semel::core {

// The key in a parsed document; nullopt: there is nothing. `place` is named in an error, whose code
// is a reason: key.invalid.
Result<std::optional<Bytes>> key_at(const json::Document& document, const json::Pointer& pointer,
                                    std::string_view place);

// A key that was found must have at least one byte.
Result<void> need_key(BytesView key, std::string_view place);

// The code is payload.invalid.
Result<void> parse_payload(json::Document& document, BytesView payload);

}  // namespace semel::core
