// JetStream's answers about a consumer and its stream, and how to create a consumer.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

#include "clients/nats/connection.h"
#include "core/nats_spec.h"

namespace semel::nats {

struct ConsumerState {
  std::string created;     // differs for a new consumer of the same name
  std::string ack_policy;  // "explicit"
  bool pushes = false;     // the server sends without requests
  std::chrono::milliseconds ack_wait{0};
  std::vector<std::chrono::milliseconds> backoff;        // used instead of ack_wait if not empty
  std::optional<std::int64_t> max_deliver;               // none: without a limit
  std::optional<std::int64_t> max_ack_pending;           // none: without a limit
  std::optional<std::int64_t> max_batch;                 // of one request; none: without a limit
  std::optional<std::chrono::milliseconds> max_expires;  // likewise
  std::int64_t pending = 0;                              // never delivered yet
  std::int64_t ack_pending = 0;                          // delivered and not acknowledged

  std::int64_t waiting = 0;          // requests for messages that are open
  std::vector<std::string> filters;  // subjects it is given messages of; empty: all of the stream

  // The shortest time after which an unrenewed delivery may come again.
  std::chrono::milliseconds shortest_wait() const;
  // The longest time after which it comes again.
  std::chrono::milliseconds longest_wait() const;
};

struct StreamState {
  bool in_memory = false;
  std::int64_t replicas = 1;
  std::optional<std::chrono::milliseconds> max_age;     // none: messages are kept forever
  std::optional<std::chrono::milliseconds> duplicates;  // its window for Nats-Msg-Id
  std::vector<std::string> subjects;                    // that it takes, * and > among them
};

// Reads an answer of the server.
ConsumerState read_consumer(std::string_view answer);
StreamState read_stream(std::string_view answer);
// The request that creates a consumer: durable, pulled from, each message acknowledged.
std::string consumer_request(const core::NatsSpec& spec);

// kRejected (R384): the stream or the consumer does not exist.
Result<ConsumerState> ask_consumer(Connection& connection, const core::NatsSpec& spec);
Result<StreamState> ask_stream(Connection& connection, const core::NatsSpec& spec);
// Asks for the consumer, and creates it if it does not exist and `spec` allows that.
Result<ConsumerState> find_consumer(Connection& connection, const core::NatsSpec& spec);
// The reason why nothing may be taken from the consumer (R386).
std::optional<Error> unusable(const ConsumerState& state, const core::NatsSpec& spec);

// The subject for requests for messages.
std::string next_subject(const core::NatsSpec& spec);

}  // namespace semel::nats
