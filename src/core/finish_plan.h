// The plan of a finish (semel/spi/finish_plan.h) by the name that the rooms know it by.
#pragma once

#include <semel/spi/finish_plan.h>

#include "core/record_machine.h"

namespace semel::core {

using spi::FinishPlan;
using spi::PayloadFrom;

using spi::has_lease;
using spi::met_only;
using spi::plan_completion;
using spi::plan_finish;
using spi::plan_without_record;
using spi::touches_messages;

}  // namespace semel::core
