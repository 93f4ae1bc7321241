// A message in the form that AMQP takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/message.h>

#include "core/rabbitmq_publish_spec.h"

namespace semel::rabbitmq {

// Empty texts are absent properties.
struct Outgoing {
  core::RabbitmqPublishSpec::Route route;
  std::string message_id;
  std::string content_type;
  std::string type;
  std::string correlation_id;
  std::string reply_to;
  std::string content_encoding;
  std::string app_id;
  std::optional<std::uint64_t> timestamp;
  Headers headers;  // of the table

  // The approximate size of everything except the body: it is sent in one frame.
  std::size_t size() const noexcept;
};

// May throw what a function of `spec` throws.
Outgoing outgoing_of(const Message& message, const core::RabbitmqPublishSpec& spec);

// Why AMQP cannot carry it, in words that follow "the message"; nullopt where it can.
std::optional<std::string> outgoing_flaw(const Outgoing& outgoing);

}  // namespace semel::rabbitmq
