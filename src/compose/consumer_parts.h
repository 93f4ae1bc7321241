// Makes the parts of an engine from one consumer's config.
#pragma once

#include <string_view>

#include <semel/spi/source.h>

#include "compose/compose.h"
#include "core/retention.h"
#include "engine/engine.h"

namespace semel::compose {

struct ConsumerBuild {
  const config::Config* config = nullptr;
  const config::ConsumerConfig* consumer = nullptr;
  Store* store = nullptr;
  const ServiceOptions* options = nullptr;
  Observer* observer = nullptr;
};

struct ConsumerParts {
  engine::EngineOptions options;
  engine::EngineParts parts;
};

// Opens the sources and checks that strategy, handler and store fit together. kRejected where the
// config or the program must change, kUnavailable or kBlocked where the fault may pass.
Result<ConsumerParts> make_consumer_parts(const ConsumerBuild& build);

// Checks as much as possible while a consumer of the same name runs: opens no source, and changes
// nothing in the store.
Result<void> check_consumer_parts(const ConsumerBuild& build);

// The same error, which names the consumer first.
Error of_consumer(std::string_view consumer, Error error);

// kRejected where the consumer's records are kept for less than `horizon`, and its config does not
// accept that.
Result<void> refuse_too_short(std::string_view consumer, const core::Retention& retention,
                              const Horizon& horizon);

}  // namespace semel::compose
