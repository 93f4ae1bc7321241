// Makes the SQS source, and inspects its queue without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/sqs_spec.h"

namespace semel::sqs {

// It ends unless it follows.
inline constexpr SourceTraits kSourceTraits{.name = "sqs", .marks_again = true};

struct SqsOptions {
  core::SqsSpec spec;
  // If false, at_end can become true: when the service has found no message in a long poll, or has
  // given as much as the prefetch allows and nothing of it is settled.
  bool follow = true;
  // How often a message may crash its process before the consumer gives it up (retry.crashes): the
  // source warns of a redrive policy that acts earlier.
  int crashes = 0;
};

// A queue of Amazon SQS, or of a server that speaks its JSON protocol. It polls from the first
// receive on, and recovers by itself. Throws SemelError where libcurl cannot be used.
std::unique_ptr<Source> make_sqs_source(SqsOptions options,
                                        Environment& environment = system_environment());

// The service's information about a queue. Counts are approximate.
struct QueueFacts {
  std::int64_t ready = 0;
  Horizon horizon;
  std::optional<core::SqsRedrive> redrive;
  // It makes a deduplication id of the body if the producer sets none.
  bool deduplicates_content = false;
};
// Asks within some seconds; receives nothing.
Result<QueueFacts> look_at_queue(const core::SqsSpec& spec);

}  // namespace semel::sqs
