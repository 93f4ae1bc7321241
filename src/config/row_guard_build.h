// `lock:` and `version:`, for the strategies that guard a business row.
#pragma once

#include "config/build.h"

namespace semel::config {

// Builds them into `made`, whose handler is known: its params are used where the guard has none.
void build_row_guards(ConsumerConfig& made, const View& consumer, Report& report);

// Checks that each strategy has its own guard, and that the store supports it.
void check_row_guards(const StoreConfig& store, const ConsumerConfig& made, const View& consumer,
                      Report& report);

}  // namespace semel::config
