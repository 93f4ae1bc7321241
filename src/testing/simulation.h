// Simulation: one run of a schedule, from a store with empty tables to the handler's results.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "testing/process.h"
#include "testing/schedule.h"

namespace semel::testkit {

struct RunResult {
  Counts left;                                  // the resulting counts, by name
  std::vector<std::string> steps;               // what happened, a line each
  std::set<std::string> points;                 // by name
  std::size_t passed = 0;                       // points, counted
  std::size_t crashes = 0;                      // that took place
  std::size_t pauses = 0;                       // likewise
  std::vector<std::size_t> no_faults;           // indexes of faults that did not take place
  std::map<std::string, std::string> given_up;  // messages, with the reasons; also in `left`
  bool stuck = false;                           // the messages were never all settled
};

// The name in the first run.
std::string first_consumer_of(std::size_t series);

// `number` names the run, from one: unique within a series.
RunResult simulate(const Subject& subject, const Schedule& schedule, std::size_t number);

}  // namespace semel::testkit
