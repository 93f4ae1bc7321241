#include "engine/dry_run.h"

#include <semel/admin/records.h>

namespace semel::engine {
namespace {

void refuse_if_too_old(strategies::AgeGate& gate, const Arrival& arrival, Outcome& outcome) {
  std::optional<strategies::AgeGate::TimePoint> sent;
  strategies::AgeGate::find_oldest(arrival, sent);
  const auto now = gate.time_for(sent);
  if (!now || !*now) return;
  const auto refused = gate.refuse(arrival, **now);
  if (!refused) return;
  const bool discards = refused->kind == strategies::Decision::Kind::kDiscarded;
  outcome.kind = discards ? Outcome::Kind::kDiscarded : Outcome::Kind::kParked;
  outcome.reason = refused->reason;
  outcome.error = refused->error;
}

}  // namespace

Outcome would_become(Store& store, const core::TrackedDelivery& delivery,
                     strategies::AgeGate* age_gate) {
  Outcome outcome;
  outcome.settle = Outcome::Settle::kRelease;
  RecordInspector* records = store.facets().records;
  if (records == nullptr) return outcome;
  const auto record = records->show(delivery.message.key().id);
  if (!record) return outcome;
  if (!*record) {
    if (age_gate != nullptr) refuse_if_too_old(*age_gate, delivery.arrival, outcome);
    return outcome;
  }
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
