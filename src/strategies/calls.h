// Calls: the handlers of a batch that run outside of a transaction, and their results.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <semel/spi/delivery.h>

#include "core/tracked_delivery.h"
#include "strategies/finish_collector.h"
#include "strategies/resolver.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// One message, and the claim under which its handler runs.
struct Call {
  core::TrackedDelivery* delivery;
  ClaimInfo claim_info;
  // Its row is removed when the message is settled, together with others, and not with its record.
  bool row_later = false;
};

// A call that was made, whose second part is to follow.
struct Made {
  Call call;
  Bytes answer;
  std::vector<Publication> publications;
  OutcomeSink* sink;
};

// Runs the second parts, each in the transaction that completes its record. Returns when all have
// been reported.
void apply_all(const Context& context, std::span<const Made> made);

// Runs a plain handler message by message, or a batch handler once, watched by the context's
// monitor; each outcome goes to `collector` immediately. Messages whose lease was lost, or that the
// drain kept from beginning, are given back. Returns when all have been reported.
void run_calls(const Context& context, std::span<const Call> calls, FinishCollector& collector,
               OutcomeSink& sink);

// The same in parts: one watch keeps the leases of all calls, whenever each of them runs.
class CallRun {
 public:
  // All borrowed.
  CallRun(const Context& context, std::span<const Call> calls, FinishCollector& collector,
          OutcomeSink& sink, HandlerMonitor::Handlers handlers);
  ~CallRun();
  CallRun(const CallRun&) = delete;
  CallRun& operator=(const CallRun&) = delete;

  // Runs these calls, given by number. Returns when all have been reported.
  void run(std::span<const std::size_t> which);

 private:
  class Running;
  void run_in_turn(std::span<const std::size_t> which);
  Decision decision_of(std::size_t i, const Attempt& attempt);
  void run_at_once(std::span<const std::size_t> which);

  const Context& context_;
  const std::span<const Call> calls_;
  FinishCollector& collector_;
  std::unique_ptr<Running> running_;
  std::unique_ptr<HandlerMonitor::Watch> watch_;  // destroyed before the objects that its ticks use
};

// The parts of it, for callers that begin calls and end them elsewhere.
std::unique_ptr<HandlerMonitor::Watch> watch_over(const Context& context,
                                                  std::span<const Call> calls,
                                                  HandlerMonitor::Handlers handlers);
Attempt attempt_of(const Context& context, const Call& call);
Resolution ending_of(const Context& context, const Call& call, const Decision& decision);
Resolution not_started(const Call& call);

}  // namespace semel::strategies
