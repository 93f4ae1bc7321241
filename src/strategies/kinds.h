// One factory for each strategy; `make_strategy` chooses. A new strategy is a file of its own here
// and a line there.
#pragma once

#include <memory>

#include "strategies/strategies.h"

namespace semel::strategies {

std::unique_ptr<Strategy> make_natural(Context context);
std::unique_ptr<Strategy> make_query(Context context);
std::unique_ptr<Strategy> make_pessimistic_lock(Context context);
std::unique_ptr<Strategy> make_optimistic_lock(Context context);
std::unique_ptr<Strategy> make_dedup_table(Context context);
std::unique_ptr<Strategy> make_inbox(Context context);
std::unique_ptr<Strategy> make_state_machine(Context context);
std::unique_ptr<Strategy> make_at_most_once(Context context);

}  // namespace semel::strategies
