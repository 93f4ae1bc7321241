// Asks all runs next to one database once for the figures of their sources.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <semel/result.h>

#include "tap/wire.h"

namespace semel::tap {

struct RunFigures {
  std::int64_t pid = 0;
  Figures figures;
};
// A run that does not answer within `patience`, or has another user or version, is left out. R201
// where the store's directory cannot be used.
Result<std::vector<RunFigures>> ask_figures(const std::string& database,
                                            std::chrono::milliseconds patience);

}  // namespace semel::tap
