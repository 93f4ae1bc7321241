// The handler that a config's steps make: their calls one after the other, each journalled.
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
// `environment` is borrowed for as long as the work is used. Errors as of the calls' handlers.
Result<StepWork> make_steps(const config::StepsHandler& steps, Environment& environment);

// How long its calls may take together.
std::chrono::milliseconds longest_run(const config::StepsHandler& steps);

core::StepFacts step_facts(const config::StepsHandler& steps);

}  // namespace semel::compose
