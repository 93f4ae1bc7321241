// Every name of a store, read in pages.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "clients/redis/router.h"
#include "stores/redis/names.h"

namespace semel::redis {

// Calls `see` with the names of this prefix, some at a time. What is there from beginning to end is
// seen, some of it perhaps twice; what comes or goes meanwhile may be. The server works on between
// the pages. On a Cluster all masters are read one after the other; what moves from one to another
// meanwhile may be seen twice, or not.
void each_name(Router& router, const Names& names,
               const std::function<void(std::span<const std::string>)>& see);

// The bytes of each, in their order, from the first to the last place (-1: to the end); errors are
// among the answers.
std::vector<Reply> beginnings(Router& router, std::span<const std::string> of, int last);

}  // namespace semel::redis
