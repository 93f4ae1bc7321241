// The settings of a publisher to Kafka, from its config or from C++. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <semel/message.h>

#include "core/kafka_spec.h"
#include "core/pace.h"

namespace semel::core {

struct KafkaPublishSpec {
  std::string brokers;                            // host:port,host:port
  std::string topic;                              // may be empty where topic_of is set
  std::map<std::string, std::string> properties;  // librdkafka's own names, passed through
  // From the call until the broker's report; without a report by then, the answer is retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key = false;  // declared: the topic's readers do nothing for a key they have seen

  // Compute these for a message; the defaults are `topic`, kafka_key_of and kafka_headers_of.
  // Called on the thread of the call, by several at a time. An exception is the answer.
  std::function<std::string(const Message&)> topic_of;
  std::function<std::optional<Bytes>(const Message&)> key_of;  // nullopt: a record without a key
  std::function<Headers(const Message&)> headers_of;
};

// The message's ordering key: messages with the same one go to one partition, in their order.
std::optional<Bytes> kafka_key_of(const Message& message);
// As headers_with_key() makes them.
Headers kafka_headers_of(const Message& message);

// Why a config may not set this property of a producer: it breaks a promise, or has a config field
// of its own.
std::optional<KafkaPropertyFlaw> kafka_producer_property_flaw(std::string_view name,
                                                              std::string_view value);

}  // namespace semel::core
