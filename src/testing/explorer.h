// Explorer: runs schedules until one has a finding.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include <semel/testing/deliver.h>

#include "testing/simulation.h"

namespace semel::testkit {

class Explorer {
 public:
  explicit Explorer(const Subject& subject) : subject_(subject) {}

  // Every schedule that the options allow, or the one of DeliverOptions::replay.
  Report explore();

  // Findings of one run; empty: none. Counted in the report.
  std::vector<Finding> try_one(const Schedule& schedule, RunResult* result = nullptr);

 private:
  // The counts after the messages without a fault.
  const Counts& expected_of(const std::set<std::size_t>& messages);
  RunResult run(const Schedule& schedule);
  bool found(const Schedule& schedule);
  bool found_unsteady();
  bool found_at_each_point(const Schedule& base);
  bool found_in_base_schedules();
  bool found_at_random();
  bool found_in_replay();
  void tell(const Schedule& schedule);

  const Subject& subject_;
  Report report_;
  std::map<std::set<std::size_t>, Counts> expected_;
  std::size_t usual_points_ = 0;  // that a run without faults passes
};

// The messages once each, in their order, one at a time.
Schedule plain_schedule(std::size_t messages);

}  // namespace semel::testkit
