// Queues: the consumers of a config that messages can be sent to, with their numbers in a store.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <semel/key.h>
#include <semel/result.h>
#include <semel/spi/store.h>

namespace semel {

// By the consumer's name.
using Queues = std::map<std::string, ConsumerNumber, std::less<>>;

// The consumers of the config whose source is the queue. `store` is the config's own store, opened
// or borrowed by the caller; a borrowed one must be in a state in which Store::attach may be
// called. Errors: those of the config, and of Store::attach.
Result<Queues> queues_of(Store& store, const std::string& config_file);

}  // namespace semel
