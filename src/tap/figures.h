// What the sources of all runs beside one database say of themselves, asked once.
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
// One that does not answer within `patience`, is of another user or another version is left out.
// R201 where the folder of the store cannot be used.
Result<std::vector<RunFigures>> ask_figures(const std::string& database,
                                            std::chrono::milliseconds patience);

}  // namespace semel::tap
