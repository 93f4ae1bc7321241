#include "core/rabbitmq_publish_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "core/trace_context.h"

namespace semel::core {
namespace {

constexpr std::size_t kShortString = 255;
constexpr std::string_view kDigest = "sha256:";

bool is_plain(std::string_view text) {
  return is_utf8(text) && std::ranges::none_of(text, ascii::is_control);
}

// By their exact names, as the broker compares them.
bool is_the_brokers(std::string_view name) {
  // CC and BCC send copies elsewhere; the others tell of the message's past in another queue.
  constexpr std::array<std::string_view, 5> kNames = {"CC", "BCC", "x-death", "x-delivery-count",
                                                      "x-stream-offset"};
  return std::ranges::find(kNames, name) != kNames.end() || name.starts_with("x-first-death-") ||
         name.starts_with("x-last-death-");
}

std::optional<std::string> name_flaw(std::string_view text) {
  if (text.size() > kShortString) return fmt::format("is longer than {} bytes", kShortString);
  if (!is_plain(text)) return "is not UTF-8, or holds a control character";
  return std::nullopt;
}

}  // namespace

std::string rabbitmq_message_id_of(const Message& message) {
  const auto carried = message.header("amqp-message-id");
  if (carried && !carried->empty() && carried->size() <= kShortString) return Bytes(*carried);
  const Bytes& key = message.key().text;
  if (key.size() <= kShortString && is_plain(key) && !key.starts_with(kDigest)) return key;
  return std::string(kDigest) + digest::hex(digest::view(digest::sha256(key)));
}

Headers rabbitmq_headers_of(const Message& message) {
  Headers made = outgoing_headers(message);
  std::erase_if(made, [](const Header& header) { return is_the_brokers(header.name); });
  return made;
}

std::optional<std::string> rabbitmq_exchange_flaw(std::string_view name) { return name_flaw(name); }

std::optional<std::string> rabbitmq_routing_key_flaw(std::string_view key) {
  return name_flaw(key);
}

}  // namespace semel::core
