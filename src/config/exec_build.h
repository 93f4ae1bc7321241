// A command of a config: built into its spec, and checked.
#pragma once

#include <string>

#include "config/build.h"
#include "core/exec_spec.h"

namespace semel::config {

// `exec`: what stands under exec:; `consumer`: the consumer it is of.
core::ExecSpec build_exec(const View& exec, const View& consumer, const std::string& folder,
                          const SourceConfig& source);

void check_exec(const core::ExecSpec& spec, const View& exec, Report& report);

}  // namespace semel::config
