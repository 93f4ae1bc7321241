#include "core/unkept_payload.h"

#include <fmt/format.h>

#include <utility>

namespace semel::core {

Message without_payload(const Message& message) {
  Message::Parts parts;
  parts.key = message.key();
  parts.fingerprint = message.fingerprint();
  parts.ordering_key = message.ordering_key();
  parts.content_type = message.content_type();
  parts.type = message.type();
  parts.headers = message.headers();
  parts.age = message.age();
  std::erase_if(parts.headers, [](const Header& one) { return one.name == kUnkeptPayload; });
  parts.headers.push_back({std::string(kUnkeptPayload), std::to_string(message.payload().size())});
  return Message(std::move(parts));
}

std::optional<std::string> unkept_payload(const Message& message) {
  if (!message.payload().empty()) return std::nullopt;
  const auto size = message.header(kUnkeptPayload);
  if (!size) return std::nullopt;
  return std::string(*size);
}

std::string unkept_text(std::size_t size, std::string_view why) {
  return fmt::format("its payload of {} bytes is not kept: {}", size, why);
}

}  // namespace semel::core
