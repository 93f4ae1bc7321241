// The commands on dead letters of a run that is asked share this.
#pragma once

#include <string_view>

#include "cli/dlq.h"
#include "cli/remote.h"

namespace semel::cli {

// The path with the flags that narrow, but for --limit and --all.
QueryText letter_query(std::string_view path, const DlqFlags& flags);

}  // namespace semel::cli
