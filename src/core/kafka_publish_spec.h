// What a publisher to Kafka is told: by its config, or in C++. Pure.
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
  std::string topic;                              // may be empty where topic_of is there
  std::map<std::string, std::string> properties;  // librdkafka's own names, passed through
  // From the call until the broker's report: what has none by then is answered retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key =
      false;  // declared: who reads the topic does nothing again under a key it knows

  // What each is for a message; where one is not there: `topic`, kafka_key_of, kafka_headers_of.
  // Called on the thread of the call, from several at a time. What one throws is the answer.
  std::function<std::string(const Message&)> topic_of;
  std::function<std::optional<Bytes>(const Message&)> key_of;  // nothing: a record without a key
  std::function<Headers(const Message&)> headers_of;
};

// The message's ordering key: messages with one key are in one partition, in their order.
std::optional<Bytes> kafka_key_of(const Message& message);
// As headers_with_key() makes them.
Headers kafka_headers_of(const Message& message);

// Why a config may not set this property of a producer: it breaks what is promised, or has a field
// of its own.
std::optional<KafkaPropertyFlaw> kafka_producer_property_flaw(std::string_view name,
                                                              std::string_view value);

}  // namespace semel::core
