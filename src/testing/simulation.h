// Simulation: one run of a schedule, from an empty store's tables to what the handler has left.
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
  Counts left;                                  // what there is, by name
  std::vector<std::string> steps;               // what happened, a line each
  std::set<std::string> points;                 // by name
  std::size_t passed = 0;                       // points, counted
  std::size_t crashes = 0;                      // that came about
  std::size_t pauses = 0;                       // likewise
  std::map<std::string, std::string> given_up;  // messages, to why; in `left` too
  bool stuck = false;                           // it did not come to its end
};

// The name in the first run.
std::string first_consumer_of(std::size_t series);

// `number` names the run, from one: no two of a series may have the same.
RunResult simulate(const Subject& subject, const Schedule& schedule, std::size_t number);

}  // namespace semel::testkit
