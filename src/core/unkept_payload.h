// A message that is stored without its payload, because the store refuses that.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <semel/message.h>

namespace semel::core {

// A header of such a message: how many bytes its payload had.
inline constexpr std::string_view kUnkeptPayload = "semel-unkept-payload";

// The message with its key, fingerprint and headers, and with kUnkeptPayload instead of the
// payload.
Message without_payload(const Message& message);
// The size of the payload that was not kept; nullopt where the payload is whole.
std::optional<std::string> unkept_payload(const Message& message);
// For people: why a payload of `size` bytes is missing.
std::string unkept_text(std::size_t size, std::string_view why);

}  // namespace semel::core
