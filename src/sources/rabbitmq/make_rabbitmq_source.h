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

struct QueueLook {
  bool there = true;  // if false, the source will declare it
  std::int64_t ready = 0;
  std::int64_t consumers = 0;
};

// Asks the first node that answers, for some seconds each; consumes nothing. Fails on a missing
// queue unless the source declares it.
Result<QueueLook> look_at_queue(const core::RabbitmqSpec& spec);

}  // namespace semel::rabbitmq
