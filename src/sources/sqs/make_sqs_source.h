// Makes the SQS source, and looks at its queue without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/sqs_spec.h"

namespace semel::sqs {

// It ends where it is not followed.
inline constexpr SourceTraits kSourceTraits{.name = "sqs"};

struct SqsOptions {
  core::SqsSpec spec;
  // Else at_end can become true: where the service has found no message in a long poll, or has
  // given as much as the prefetch allows and nothing of it is settled.
  bool follow = true;
  // How often a message may crash its process before the consumer gives it up (retry.crashes): a
  // redrive policy that is quicker is told of.
  int crashes = 0;
};

// A queue of Amazon SQS, or of a server that speaks its JSON protocol. It asks at the first
// receive, and goes on by itself. Throws SemelError where libcurl cannot be used.
std::unique_ptr<Source> make_sqs_source(SqsOptions options,
                                        Environment& environment = system_environment());

// The account that a queue gives of itself. Counts are approximate, as the service says.
struct QueueFacts {
  std::int64_t ready = 0;
  Horizon horizon;
  std::optional<core::SqsRedrive> redrive;
  // It makes a deduplication id of the body where the producer sets none.
  bool deduplicates_content = false;
};
// Asks within some seconds; receives nothing.
Result<QueueFacts> look_at_queue(const core::SqsSpec& spec);

}  // namespace semel::sqs
