// Makes the NATS source, and inspects its consumer without it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/nats_spec.h"

namespace semel::nats {

// It ends unless it follows.
inline constexpr SourceTraits kSourceTraits{.name = "nats", .marks_again = true, .tells_lag = true};

struct NatsOptions {
  core::NatsSpec spec;
  // If false, at_end can become true: when the server has nothing for the consumer and no other
  // member holds anything, or has delivered as much as the prefetch allows and nothing of it is
  // settled.
  bool follow = true;
  // New messages must not overtake those of a broken connection, or of a dead process: nothing is
  // requested until their ack wait is over.
  bool in_order = false;
};

// A durable consumer of a JetStream stream, with explicit acks. It connects at the first receive,
// and reconnects by itself.
std::unique_ptr<Source> make_nats_source(NatsOptions options,
                                         Environment& environment = system_environment());

// The server's information about a consumer and its stream.
struct ConsumerLook {
  // Why nothing of the stream is known: the user lacks a right that a run does without.
  std::optional<Error> stream_hidden;
  bool there = true;         // else it does not exist yet, and the rest is about the stream alone
  std::int64_t waiting = 0;  // for it, including deliveries that are not acknowledged
  std::optional<std::int64_t> max_deliver;      // nullopt: without a limit
  std::chrono::milliseconds shortest_wait{0};   // before a delivery may come again
  std::optional<std::int64_t> max_ack_pending;  // nullopt: without a limit
  bool in_memory = false;
  std::int64_t replicas = 1;
  std::optional<std::chrono::milliseconds> max_age;     // nullopt: kept for ever
  std::optional<std::chrono::milliseconds> duplicates;  // its window for Nats-Msg-Id
  std::vector<std::string> subjects;                    // that the stream takes, as patterns
  std::vector<std::string> filters;  // the consumer's part of them; empty: all of the stream
};
// Asks the first server that answers, for some seconds each; consumes and creates nothing.
Result<ConsumerLook> look_at_consumer(const core::NatsSpec& spec);

}  // namespace semel::nats
