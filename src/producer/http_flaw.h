// Finds what a message has that an HTTP request cannot carry as it is. Pure.
#pragma once

#include <optional>
#include <string>

#include <semel/outgoing_message.h>

#include "core/http_spec.h"

namespace semel::producer {

// In words that follow "it has": "a header \"host\", which is a header of the connection"; nullopt
// where all of it arrives. `message` has its key.
std::optional<std::string> http_flaw(const OutgoingMessage& message, const core::HttpSpec& to);

}  // namespace semel::producer
