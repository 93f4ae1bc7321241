// The age gate of a run (docs/guarantees.md), without waiting: the program's clock, which is the
// clock of its SQLite store too, is days ahead of its broker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace semel::test {

// Runs the program as on a later day.
Ran days_later(int days, const Words& words);

// So many payments of one each.
std::vector<std::string> some_payments(std::size_t count);

// Payments in a broker, none of them handled yet.
struct AgedPayments {
  std::string config;  // of the consumer `payments`
  std::size_t count = 0;
  int in_time = 0;                        // days after which they are not too old
  int too_old = 0;                        // days after which they are, and their records gone
  std::function<void()> come_again;       // the broker has all of them to deliver once more
  std::function<std::int64_t()> effects;  // rows of the handler
  std::function<bool()> nothing_left = nullptr;  // at the broker
};
// They are handled in time, forgotten and delivered again: discarded, handled a second time, or
// parked and let run by a person, as `too_old` says.
void expect_age_gate(const AgedPayments& payments);

}  // namespace semel::test
