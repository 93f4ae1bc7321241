// Diagnostics as JSON and as GitHub's annotations, in the same shape everywhere.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "config/config.h"

namespace semel::cli {

// Adds a member `name`: a list of {code, severity, message, path, file, line, column, …}.
void add_diagnostics(json::Writer& writer, std::string_view name,
                     std::span<const config::Diagnostic> diagnostics);

// "::error file=semel.yaml,line=4,col=3,title=E012::unknown field …"
std::string github_annotation(const config::Diagnostic& diagnostic);

}  // namespace semel::cli
