// The transactional pipeline: a batch's claims, its handlers' statements and its endings in one
// transaction, and what is done when that transaction fails.
//
// begin → enter (claim or confirm, one call) → handlers, each recording its list → one flush → one
// finish for the mixed batch → commit → endings; flush, finish and commit as one call where all is
// to end well. A strategy differs from another in its Entry: how
// a batch enters its transaction, and by what right its handlers run.
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

#include "strategies/endings.h"
#include "strategies/habits.h"
#include "strategies/row_versions.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// How a batch enters its transaction. One object serves one call of Pipeline::run.
class Entry {
 public:
  virtual ~Entry() = default;

  // The unit's first act, for the batch's deliveries from `first` on; `answers` gets one for each.
  // An Acquired that is answered lets the handler run.
  virtual Result<void> enter(UnitOfWork& unit, std::size_t first,
                             std::span<const Message* const> messages,
                             std::vector<Claim>& answers) = 0;

  // Who may run although there is no record: then Acquired's lease is not looked at.
  virtual bool has_records() const noexcept { return true; }
  // The claims were committed before: what does not run must be given back, and the keeper renews.
  virtual std::span<const Lease> leases() const noexcept { return {}; }
  // This delivery was given back without a word in the record.
  virtual void given_back(std::size_t index) noexcept { (void)index; }
  // After a commit in doubt `enter` said Busy: asks the record again, outside of any unit.
  virtual std::optional<Claim> look_again(const Message& message) noexcept {
    (void)message;
    return std::nullopt;
  }
};

struct PipelineOptions {
  bool inbox = false;
  // A handler may have touched the store's connection beside its Transaction (borrowed ones): after
  // an undo it must run again although it read nothing, and only the end of the transaction undoes
  // what it did.
  bool always_rerun = false;
  // Of work in two: the call was made, and must not be made again for the sake of a drain.
  bool second_part = false;
  // Says whether a message that is early for its row's version has had a try; borrowed, may be
  // null.
  RowVersions* versions = nullptr;
};

// What a run came to beside its endings.
struct Ran {
  struct GivenBack {
    const core::TrackedDelivery* delivery;
    Error error;  // kInDoubt: its transaction may have committed
  };
  std::vector<GivenBack> given_back;          // what the store could not answer for
  std::optional<FlushReport::Failed> failed;  // the newest statement of a handler's that failed
};

class Pipeline {
 public:
  // `context` is borrowed; its store is transactional and its handler too.
  Pipeline(const Context& context, PipelineOptions options);

  // Ends every delivery of `batch` at `sink`. Several threads may call it.
  Ran run(std::span<core::TrackedDelivery* const> batch, Entry& entry, EndingSink& sink);

 private:
  const Context& context_;
  const PipelineOptions options_;
  const std::shared_ptr<Habits> habits_;
};

// The pointers of a batch, for those who process parts of it.
std::vector<core::TrackedDelivery*> pointers(std::span<core::TrackedDelivery> batch);

}  // namespace semel::strategies
