// Builds and checks the spec of a command.
#pragma once

#include <string>

#include "config/build.h"
#include "core/exec_spec.h"

namespace semel::config {

// `exec`: the map under exec:; `consumer`: its consumer.
core::ExecSpec build_exec(const View& exec, const View& consumer, const std::string& folder,
                          const SourceConfig& source);

void check_exec(const core::ExecSpec& spec, const View& exec, Report& report);

}  // namespace semel::config
