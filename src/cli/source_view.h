// The figures that the sources of a store's runs, and the windows in front of its records, report:
// as text and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operate/status.h"
#include "tap/figures.h"

namespace semel::cli {

using operate::add_sources;
using operate::HealthView;
using operate::SourceView;

std::vector<SourceView> sources_of(const std::vector<tap::RunFigures>& runs,
                                   std::string_view consumer);
std::vector<SourceView> windows_of(const std::vector<tap::RunFigures>& runs,
                                   std::string_view consumer);

std::vector<HealthView> health_of(const std::vector<tap::RunFigures>& runs,
                                  std::string_view consumer);

// "kafka in process 17: lag 3, partitions 6": the figures of the whole source; those of single
// partitions are in JSON only.
std::string source_text(const SourceView& view);

}  // namespace semel::cli
