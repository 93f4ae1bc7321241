// Compares the state after a run with the expected one.
#pragma once

#include <vector>

#include <semel/testing/deliver.h>

namespace semel::testkit {

std::vector<Finding> compare(const Counts& expected, const Counts& found,
                             const DeliverOptions& options);

}  // namespace semel::testkit
