#pragma once

#include <memory>
#include <string>

#include <semel/records.h>

#include "stores/redis/names.h"
#include "stores/redis/pool.h"

namespace semel::redis {

// `clock`: as of Scripts. The others outlive it. What looks at more than one record reads every
// name of the store.
std::unique_ptr<RecordInspector> make_inspector(Pool& pool, const Names& names,
                                                const std::string& clock);

}  // namespace semel::redis
