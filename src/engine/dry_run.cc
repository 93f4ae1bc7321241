#include "engine/dry_run.h"

#include <semel/admin/records.h>

namespace semel::engine {

Outcome would_become(Store& store, const core::TrackedDelivery& delivery) {
  Outcome outcome;
  outcome.settle = Outcome::Settle::kRelease;
  RecordInspector* records = store.facets().records;
  if (records == nullptr) return outcome;
  const auto record = records->show(delivery.message.key().id);
  if (!record || !*record) return outcome;
  if ((*record)->fingerprint != delivery.message.fingerprint()) {
    outcome.kind = Outcome::Kind::kConflict;
    return outcome;
  }
  switch ((*record)->state) {
    case RecordState::kCompleted:
      outcome.kind = Outcome::Kind::kDuplicate;
      if ((*record)->completed_at) outcome.completed_at = *(*record)->completed_at;
      break;
    case RecordState::kConsuming:
      outcome.kind = Outcome::Kind::kBusy;
      break;
    case RecordState::kParked:
    case RecordState::kDead:
      outcome.kind = Outcome::Kind::kDead;
      outcome.reason = (*record)->reason;
      break;
    case RecordState::kRetrying:
      break;
  }
  return outcome;
}

}  // namespace semel::engine
