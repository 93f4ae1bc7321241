// From one consumer's config to its handler, and to what runs with it: its second part, the look of
// strategy `query` and the guard of a business row.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <semel/handler.h>
#include <semel/step_spec.h>

#include "compose/consumer_parts.h"
#include "handlers/sql/row_guards.h"

namespace semel::compose {

// The program's own handler of this name; null where it has none.
const NativeWork* find_native(const ConsumerBuild& build, const std::string& name);

// `steps`: set for a handler with steps in the config.
Result<Handler> handler_of(const ConsumerBuild& build, std::optional<StepSpecs>& steps);

// The second part of the consumer's work; empty: there is none.
Result<ApplyHandler> apply_of(const ConsumerBuild& build);

// The look of strategy `query`: a SELECT of its own, outside of any transaction of the work.
std::function<Result<bool>(const Message&)> look_of(const ConsumerBuild& build, Error& error);

// The statements that a strategy which guards a business row adds before the handler's.
Result<handlers::RowGuard> guard_of(const ConsumerBuild& build, core::StrategyKind strategy);

}  // namespace semel::compose
