#include "handlers/rabbitmq/outgoing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"

namespace semel::rabbitmq {

namespace {

constexpr std::size_t kShortString = 255;
// Size of a header's type and of the lengths of its name and value.
constexpr std::size_t kOfAHeader = 6;
// The header that the deduplication plugin reads.
constexpr const char* kDeduplication = "x-deduplication-header";

bool fits(std::string_view text) noexcept { return text.size() <= kShortString; }

// Turns a header that a RabbitMQ source made of a property back into that property.
bool take_property(Header& header, Outgoing& outgoing) {
  const std::pair<const char*, std::string Outgoing::*> places[] = {
      {"amqp-correlation-id", &Outgoing::correlation_id},
      {"amqp-reply-to", &Outgoing::reply_to},
      {"amqp-content-encoding", &Outgoing::content_encoding},
      {"amqp-app-id", &Outgoing::app_id},
      {"amqp-type", &Outgoing::type},
      {"content-type", &Outgoing::content_type}};
  for (const auto& [name, place] : places) {
    if (!ascii::alike(header.name, name) || !fits(header.value)) continue;
    if ((outgoing.*place).empty()) outgoing.*place = std::move(header.value);
    return true;
  }
  if (!ascii::alike(header.name, "amqp-timestamp")) return false;
  std::uint64_t time = 0;
  const char* const end = header.value.data() + header.value.size();
  const auto [stop, problem] = std::from_chars(header.value.data(), end, time);
  if (problem != std::errc{} || stop != end) return false;
  outgoing.timestamp = time;
  return true;
}

}  // namespace

std::size_t Outgoing::size() const noexcept {
  std::size_t bytes = message_id.size() + content_type.size() + type.size() +
                      correlation_id.size() + reply_to.size() + content_encoding.size() +
                      app_id.size();
  for (const Header& header : headers) {
    bytes += header.name.size() + header.value.size() + kOfAHeader;
  }
  return bytes;
}

Outgoing outgoing_of(const Message& message, const core::RabbitmqPublishSpec& spec) {
  Outgoing made;
  made.route = spec.route_of ? spec.route_of(message) : spec.route;
  made.message_id =
      spec.message_id_of ? spec.message_id_of(message) : core::rabbitmq_message_id_of(message);
  if (fits(message.content_type())) made.content_type = message.content_type();
  if (fits(message.type())) made.type = message.type();
  Headers headers = spec.headers_of ? spec.headers_of(message) : core::rabbitmq_headers_of(message);
  for (Header& header : headers) {
    const bool is_id =
        ascii::alike(header.name, "amqp-message-id") && header.value == made.message_id;
    if (is_id || take_property(header, made)) continue;
    if (spec.deduplicated_for && header.name == kDeduplication) continue;
    made.headers.push_back(std::move(header));
  }
  if (spec.deduplicated_for) made.headers.push_back({kDeduplication, made.message_id});
  return made;
}

std::optional<std::string> outgoing_flaw(const Outgoing& outgoing) {
  if (const auto flaw = core::rabbitmq_exchange_flaw(outgoing.route.exchange)) {
    return "goes to an exchange whose name " + *flaw;
  }
  if (const auto flaw = core::rabbitmq_routing_key_flaw(outgoing.route.routing_key)) {
    return "has a routing key that " + *flaw;
  }
  if (!fits(outgoing.message_id)) {
    return fmt::format("has a message-id of more than {} bytes", kShortString);
  }
  const bool names_fit = std::all_of(outgoing.headers.begin(), outgoing.headers.end(),
                                     [](const Header& header) { return fits(header.name); });
  if (!names_fit) {
    return fmt::format("has a header whose name is longer than {} bytes", kShortString);
  }
  return std::nullopt;
}

}  // namespace semel::rabbitmq
