// The answer to a delivery whose dead letter a person has edited since.
#pragma once

#include <optional>

#include <semel/message.h>
#include <semel/spi/claim.h>

#include "strategies/strategies.h"

namespace semel::strategies {

// The answer to a claim that met `conflict` with the message as it was before its dead letter was
// edited: what the record says of the edited one, which the store keeps. It never lets the message
// itself be handled. nullopt: the conflict is one, or the store cannot tell.
std::optional<Claim> answer_to_original(const Context& context, const Conflict& conflict,
                                        const Message& message);

}  // namespace semel::strategies
