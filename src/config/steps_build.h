// Builds and checks the steps of a handler.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/build.h"

namespace semel::config {

StepsHandler build_steps(const View& consumer, const std::string& folder,
                         const SourceConfig& source, Report& report);

// Completes its calls from the rest of their consumer.
void complete_steps(ConsumerConfig& consumer, const View& view);

// Calls `see` with each call, its map ("consumers[0].handler.steps[1].undo"), and the steps whose
// answers it may use: those before it, or for an undo its own.
using SeeStepCall = std::function<void(const StepCall& call, const View& at,
                                       const std::vector<std::string>& answered)>;
void each_step_call(const StepsHandler& steps, const View& consumer, const SeeStepCall& see);

void check_steps(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
