// `lock:` and `version:`, which belong to the strategies that guard a business row.
#pragma once

#include "config/build.h"

namespace semel::config {

// Into `made`, whose handler is known: its params are the guard's where that has none of its own.
void build_row_guards(ConsumerConfig& made, const View& consumer, Report& report);

// Whether each strategy has its own, and it can be done on the store.
void check_row_guards(const StoreConfig& store, const ConsumerConfig& made, const View& consumer,
                      Report& report);

}  // namespace semel::config
