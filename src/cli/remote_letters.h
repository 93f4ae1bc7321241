// Shared by the commands on dead letters of a run that is asked (--url).
#pragma once

#include <string_view>

#include "cli/dlq.h"
#include "cli/remote.h"

namespace semel::cli {

// The path with the parameters of the filter flags, without --limit and --all.
QueryText letter_query(std::string_view path, const DlqFlags& flags);

}  // namespace semel::cli
