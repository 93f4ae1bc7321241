// Every name of a store, read in pages.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "clients/redis/router.h"
#include "stores/redis/names.h"

namespace semel::redis {

// Calls `see` with the names of this prefix, some at a time. Names that exist from beginning to end
// are seen, perhaps twice; names added or removed meanwhile may be seen. The server serves others
// between the pages. On a Cluster all masters are read one after the other; names that move between
// them meanwhile may be seen twice, or not.
void each_name(Router& router, const Names& names,
               const std::function<void(std::span<const std::string>)>& see);

// The bytes of each, in order, from the first to the last offset (-1: to the end); the answers may
// include errors.
std::vector<Reply> beginnings(Router& router, std::span<const std::string> of, int last);

}  // namespace semel::redis
