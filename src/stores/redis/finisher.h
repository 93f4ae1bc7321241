// What one Finish is to the script: its part about the record, and the one about rows and letters.
#pragma once

#include <string>

#include <semel/finish.h>

#include "stores/redis/core.h"

namespace semel::redis {

// Adds an entry to a call of Scripts::finish, whose first argument stands there already. `ttl`: in
// ms, or empty.
void append_finish(Call& call, const Names& names, const Finish& finish, std::string ttl);

// About how much the entry adds.
std::size_t weight_of(const Finish& finish) noexcept;

}  // namespace semel::redis
