// The first page of the dashboard, from the data of a scrape.
#pragma once

#include <string>
#include <vector>

#include "admin/overview.h"
#include "compose/admin_gauges.h"

namespace semel::compose {

// Words of the config about a consumer.
struct ConsumerAbout {
  std::string name;
  std::string source;
  std::string strategy;
  std::string handler;
  std::string guarantee;
};

// `phase`: of the run. Without the intervals of the history.
admin::Overview overview_of(const GaugeInput& input, const std::vector<ConsumerAbout>& about,
                            const std::string& phase);

}  // namespace semel::compose
