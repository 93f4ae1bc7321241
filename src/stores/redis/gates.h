#pragma once

#include <memory>
#include <string>

#include <semel/gates.h>

#include "stores/redis/names.h"
#include "stores/redis/pool.h"

namespace semel::redis {

// `clock`: as of Scripts. The others outlive it.
std::unique_ptr<Gates> make_gates(Pool& pool, const Names& names, const std::string& clock);

}  // namespace semel::redis
