// Makes the RabbitMQ source, and looks at its queue without it.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/rabbitmq_spec.h"

namespace semel::rabbitmq {

// It ends where it is not followed.
inline constexpr SourceTraits kSourceTraits{.name = "rabbitmq"};

struct RabbitmqOptions {
  core::RabbitmqSpec spec;
  // Else at_end can become true: where the broker says that nothing is left in the queue, or has
  // brought as much as the prefetch allows and nothing of it is settled.
  bool follow = true;
};

// A queue of a RabbitMQ broker, acknowledged by hand. It connects at the first receive, and again
// by itself.
std::unique_ptr<Source> make_rabbitmq_source(RabbitmqOptions options,
                                             Environment& environment = system_environment());

// How many messages are ready in the queue: none where it is yet to be made. Asks the first node
// that answers, within some seconds for each; consumes nothing.
Result<std::int64_t> look_at_depth(const core::RabbitmqSpec& spec);

}  // namespace semel::rabbitmq
