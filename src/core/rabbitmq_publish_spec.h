// The settings of a publisher to RabbitMQ, from its config or from C++. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <semel/message.h>

#include "core/pace.h"
#include "core/rabbitmq_spec.h"

namespace semel::core {

struct RabbitmqPublishSpec : RabbitmqAccess {
  struct Route {
    std::string exchange;  // empty: the default one, whose routing keys are names of queues
    std::string routing_key;
    bool operator==(const Route&) const = default;
  };

  Route route;  // may be empty where route_of is set
  // From the call until the broker's confirm; without a confirm by then, the answer is retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key = false;  // declared: consumers do nothing for an id they have seen

  // Declared: at the destination the broker's deduplication plugin drops repeats of an id for this
  // long. Each message then carries its id as x-deduplication-header.
  std::optional<std::chrono::milliseconds> deduplicated_for;

  // Compute these for a message; the defaults are `route`, rabbitmq_message_id_of and
  // rabbitmq_headers_of. Called on the thread of the call, by several at a time. An exception is
  // the answer.
  std::function<Route(const Message&)> route_of;
  std::function<std::string(const Message&)> message_id_of;
  std::function<Headers(const Message&)> headers_of;
};

// The message-id that the message came with, else its key: the same when it is published again. A
// key that is no AMQP short string becomes sha256: and its digest; no two keys collide.
std::string rabbitmq_message_id_of(const Message& message);
// The message's own headers, except those that a broker acts upon or sets itself (CC, BCC, x-death,
// …). The headers amqp-… that a RabbitMQ source makes of properties become properties again.
Headers rabbitmq_headers_of(const Message& message);

// Why no exchange or routing key can have this name, in words that follow it.
std::optional<std::string> rabbitmq_exchange_flaw(std::string_view name);
std::optional<std::string> rabbitmq_routing_key_flaw(std::string_view key);

}  // namespace semel::core
