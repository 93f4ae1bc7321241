// CrashUnit: a transaction of a simulated process, which may end at each of its points.
#pragma once

#include <memory>

#include <semel/spi/unit_of_work.h>

#include "testing/life.h"

namespace semel::testkit {

// `inner` must have begun. Borrows `life`.
std::unique_ptr<UnitOfWork> make_crash_unit(std::unique_ptr<UnitOfWork> inner, Life& life);

}  // namespace semel::testkit
