// Makes the sources of an engine from one consumer's config.
#pragma once

#include <memory>
#include <vector>

#include <semel/key.h>
#include <semel/spi/source.h>

#include "compose/consumer_parts.h"
#include "sources/sources.h"

namespace semel::compose {

// Opens the configured source, and the one for messages that the store holds for the consumer; none
// where clients claim its keys. `line_of`: the line of a message that waits in the store.
Result<std::vector<std::unique_ptr<Source>>> sources_of(const ConsumerBuild& build,
                                                        ConsumerNumber number, LineOf line_of);

}  // namespace semel::compose
