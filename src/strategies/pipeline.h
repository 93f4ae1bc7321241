// The transactional pipeline: a batch's claims, its handlers' statements and its outcomes in one
// transaction, and the reaction when that transaction fails.
//
// begin → enter (claim or confirm, one call) → handlers, each recording its list → one flush → one
// finish for the mixed batch → commit → outcomes; flush, finish and commit are one call where all
// is expected to succeed. Strategies differ in their ClaimPolicy: how a batch enters its
// transaction, and under which claim its handlers run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <semel/error.h>
#include <semel/spi/claim.h>
#include <semel/spi/delivery.h>
#include <semel/spi/unit_of_work.h>
#include "strategies/strategy.h"

#include "strategies/pipeline_stats.h"
#include "strategies/resolver.h"
#include "strategies/row_versions.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// How a batch enters its transaction. One object serves one call of Pipeline::run.
class ClaimPolicy {
 public:
  virtual ~ClaimPolicy() = default;

  // The unit's first act, for the batch's deliveries from `first` on; `answers` gets one answer for
  // each. An Acquired lets the handler run.
  virtual Result<void> enter(UnitOfWork& unit, std::size_t first,
                             std::span<const Message* const> messages,
                             std::vector<Claim>& answers) = 0;

  // False where messages run without a record: then Acquired's lease is ignored.
  virtual bool has_records() const noexcept { return true; }
  // The claims were committed before: messages that do not run must be given back, and the monitor
  // renews the leases.
  virtual std::span<const Lease> leases() const noexcept { return {}; }
  // This delivery was given back without a change of its record.
  virtual void given_back(std::size_t index) noexcept { (void)index; }
  // If `enter` returned Busy after a commit in doubt: asks the record again, outside of any unit.
  virtual std::optional<Claim> look_again(const Message& message) noexcept {
    (void)message;
    return std::nullopt;
  }
};

struct PipelineOptions {
  bool inbox = false;
  // A handler may have used the store's connection outside of its Transaction (borrowed ones):
  // after an undo it must run again although it read nothing, and only the end of the transaction
  // undoes its work.
  bool always_rerun = false;
  // For a two-part handler: the call was made, and must not be repeated because of a drain.
  bool second_part = false;
  // Decides whether an early message's attempt counts; borrowed, may be null.
  RowVersions* versions = nullptr;
};

// The results of a run, other than its outcomes.
struct PipelineResult {
  struct GivenBack {
    const core::TrackedDelivery* delivery;
    Error error;  // kInDoubt: its transaction may have committed
  };
  std::vector<GivenBack> given_back;          // for which the store could not answer
  std::optional<FlushReport::Failed> failed;  // the newest failed statement of a handler
};

class Pipeline {
 public:
  // `context` is borrowed; its store and its handler are transactional.
  Pipeline(const Context& context, PipelineOptions options);

  // Ends every delivery of `batch` at `sink`. Thread-safe.
  PipelineResult run(std::span<core::TrackedDelivery* const> batch, ClaimPolicy& policy,
                     OutcomeSink& sink);

 private:
  const Context& context_;
  const PipelineOptions options_;
  const std::shared_ptr<PipelineStats> stats_;
};

// The pointers of a batch, for code that processes parts of it.
std::vector<core::TrackedDelivery*> pointers(std::span<core::TrackedDelivery> batch);

}  // namespace semel::strategies
