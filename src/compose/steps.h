// Makes a handler of a config's steps: calls them one after the other, journalling each.
#pragma once

#include <chrono>

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>
#include <semel/step_spec.h>

#include "config/config.h"
#include "core/guarantee.h"

namespace semel::compose {

struct StepWork {
  PlainHandler handler;
  StepSpecs specs;
};
// `environment` is borrowed as long as the handler is used. Errors: those of the calls' handlers.
Result<StepWork> make_steps(const config::StepsHandler& steps, Environment& environment);

// The longest time of its calls together.
std::chrono::milliseconds longest_run(const config::StepsHandler& steps);

core::StepFacts step_facts(const config::StepsHandler& steps);

}  // namespace semel::compose
