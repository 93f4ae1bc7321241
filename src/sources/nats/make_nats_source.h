// Makes the NATS source, and looks at its consumer without it.
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

// It ends where it is not followed.
inline constexpr SourceTraits kSourceTraits{.name = "nats"};

struct NatsOptions {
  core::NatsSpec spec;
  // Else at_end can become true: where the server says that it has nothing for the consumer and
  // that nobody has anything, or has brought as much as the prefetch allows and nothing of it is
  // settled.
  bool follow = true;
  // New messages do not overtake what a connection that broke, or a process that died, had in
  // hand: nothing is asked for until the time of that is over.
  bool in_order = false;
};

// A durable consumer of a JetStream stream, acknowledged by hand. It connects at the first receive,
// and again by itself.
std::unique_ptr<Source> make_nats_source(NatsOptions options,
                                         Environment& environment = system_environment());

// The server's account of a consumer and of its stream.
struct ConsumerLook {
  bool there = true;         // else it is yet to be made, and what follows is of the stream alone
  std::int64_t waiting = 0;  // for it, with what is delivered and not acknowledged
  std::optional<std::int64_t> max_deliver;      // none: without a limit
  std::chrono::milliseconds shortest_wait{0};   // before a delivery may come again
  std::optional<std::int64_t> max_ack_pending;  // none: without a limit
  bool in_memory = false;
  std::int64_t replicas = 1;
  std::optional<std::chrono::milliseconds> max_age;     // none: kept without end
  std::optional<std::chrono::milliseconds> duplicates;  // its window for Nats-Msg-Id
  std::vector<std::string> subjects;                    // that the stream takes, as patterns
  std::vector<std::string> filters;  // the consumer's part of them; empty: all of the stream
};
// Asks the first server that answers, within some seconds for each; consumes and makes nothing.
Result<ConsumerLook> look_at_consumer(const core::NatsSpec& spec);

}  // namespace semel::nats
