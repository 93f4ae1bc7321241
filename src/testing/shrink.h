// Makes a schedule with a finding shorter, as long as it still has one.
#pragma once

#include <functional>

#include "testing/schedule.h"

namespace semel::testkit {

// `finds` runs a schedule; it is called a limited number of times.
Schedule shrink(Schedule schedule, const std::function<bool(const Schedule&)>& finds);

}  // namespace semel::testkit
