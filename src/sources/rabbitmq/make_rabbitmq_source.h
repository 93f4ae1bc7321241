// Makes the RabbitMQ source, and inspects its queue without it.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/rabbitmq_spec.h"

namespace semel::rabbitmq {

// It ends unless it follows.
inline constexpr SourceTraits kSourceTraits{.name = "rabbitmq", .marks_again = true};

struct RabbitmqOptions {
  core::RabbitmqSpec spec;
  // If false, at_end can become true: when the broker has nothing left in the queue, or has
  // delivered as much as the prefetch allows and nothing of it is settled.
  bool follow = true;
};

// A queue of a RabbitMQ broker, with explicit acks. It connects at the first receive, and
// reconnects by itself.
std::unique_ptr<Source> make_rabbitmq_source(RabbitmqOptions options,
                                             Environment& environment = system_environment());

// How many messages are ready in the queue: zero if it does not exist yet. Asks the first node that
// answers, for some seconds each; consumes nothing.
Result<std::int64_t> look_at_depth(const core::RabbitmqSpec& spec);

}  // namespace semel::rabbitmq
