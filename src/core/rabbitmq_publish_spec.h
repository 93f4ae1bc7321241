// What a publisher to RabbitMQ is told: by its config, or in C++. Pure.
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
    std::string exchange;  // empty: the default one, where a routing key is a queue's name
    std::string routing_key;
    bool operator==(const Route&) const = default;
  };

  Route route;  // may be empty where route_of is there
  // From the call until the broker's confirm: what has none by then is answered retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key = false;  // declared: who consumes it does nothing again under an id it knows

  // Declared: where it goes the broker's deduplication plugin drops what comes again under an id
  // within so long. Each message has its id as x-deduplication-header then.
  std::optional<std::chrono::milliseconds> deduplicated_for;

  // What each is for a message; where one is not there: `route`, rabbitmq_message_id_of,
  // rabbitmq_headers_of. Called on the thread of the call, from several at a time. What one throws
  // is the answer.
  std::function<Route(const Message&)> route_of;
  std::function<std::string(const Message&)> message_id_of;
  std::function<Headers(const Message&)> headers_of;
};

// The message-id that the message came with, else its key: one that is published again has the
// same. A key that is no short string of AMQP becomes sha256: and its digest; no two keys meet.
std::string rabbitmq_message_id_of(const Message& message);
// The message's own, but for those that a broker acts upon or sets itself (CC, BCC, x-death, …).
// Those named amqp-… that a RabbitMQ source makes of properties become properties again.
Headers rabbitmq_headers_of(const Message& message);

// Why there can be no exchange of this name, or no such routing key, in words that follow it.
std::optional<std::string> rabbitmq_exchange_flaw(std::string_view name);
std::optional<std::string> rabbitmq_routing_key_flaw(std::string_view key);

}  // namespace semel::core
