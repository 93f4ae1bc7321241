// JetStream's answers about a consumer and its stream, and how a consumer is made.
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
  std::string created;     // another one has another, also under the same name
  std::string ack_policy;  // "explicit"
  bool pushes = false;     // the server sends by itself
  std::chrono::milliseconds ack_wait{0};
  std::vector<std::chrono::milliseconds> backoff;  // in place of ack_wait, where there are some
  std::optional<std::int64_t> max_deliver;         // none: without a limit
  std::optional<std::int64_t> max_ack_pending;     // none: without a limit
  std::optional<std::int64_t> max_batch;           // of one request; none: without a limit
  std::optional<std::chrono::milliseconds> max_expires;  // likewise
  std::int64_t pending = 0;                              // never delivered
  std::int64_t ack_pending = 0;                          // delivered and not acknowledged

  std::int64_t waiting = 0;          // requests for messages that are open
  std::vector<std::string> filters;  // subjects it is given messages of; empty: all of the stream

  // How soon a delivery that nobody renews may come again.
  std::chrono::milliseconds shortest_wait() const;
  // How late it comes again at the latest.
  std::chrono::milliseconds longest_wait() const;
};

struct StreamState {
  bool in_memory = false;
  std::int64_t replicas = 1;
  std::optional<std::chrono::milliseconds> max_age;     // none: messages are kept without end
  std::optional<std::chrono::milliseconds> duplicates;  // its window for Nats-Msg-Id
  std::vector<std::string> subjects;                    // that it takes, * and > among them
};

// As the server answers them.
ConsumerState read_consumer(std::string_view answer);
StreamState read_stream(std::string_view answer);
// The request that makes a consumer: a durable one that is pulled from, each message acknowledged.
std::string consumer_request(const core::NatsSpec& spec);

// kRejected (R384): the stream or the consumer is not there.
Result<ConsumerState> ask_consumer(Connection& connection, const core::NatsSpec& spec);
Result<StreamState> ask_stream(Connection& connection, const core::NatsSpec& spec);
// Asks, and makes it where it is not there and `spec` says so.
Result<ConsumerState> find_consumer(Connection& connection, const core::NatsSpec& spec);
// Why nothing may be taken from it (R386).
std::optional<Error> unusable(const ConsumerState& state, const core::NatsSpec& spec);

// Where messages are asked for.
std::string next_subject(const core::NatsSpec& spec);

}  // namespace semel::nats
