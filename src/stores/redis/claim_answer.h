// The claim that an answer of the claim script means.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <semel/message.h>
#include <semel/spi/claim.h>
#include <semel/spi/lease.h>

#include "clients/redis/connection.h"

namespace semel::redis {

// `i`: the index of the message in its call. `again`: the lease that was asked for, where this is
// the second time, because the first answer was lost. Throws core::Failure.
Claim answer_to_claim(const Message& message, const Nonce& nonce, const Reply& reply, std::size_t i,
                      std::optional<std::chrono::milliseconds> again);

}  // namespace semel::redis
