#include "strategies/edited_letter.h"

#include <algorithm>
#include <chrono>

#include <semel/admin/records.h>

#include "strategies/resolver.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

Claim answer_of(const RecordView& record) {
  switch (record.state) {
    case RecordState::kCompleted:
      return Completed{record.result, record.completed_at.value_or(StoreTime{})};
    case RecordState::kParked:
      return Closed{true, record.reason, true};
    case RecordState::kDead:
      return Closed{false, record.reason};
    case RecordState::kConsuming:
    case RecordState::kRetrying:
      break;
  }
  milliseconds next_in{0};
  if (record.next_at && record.read_at) {
    next_in = std::max(next_in, milliseconds(*record.next_at - *record.read_at));
  }
  return Waiting{next_in};
}

}  // namespace

std::optional<Claim> answer_to_original(const Context& context, const Conflict& conflict,
                                        const Message& message) {
  // If no messages are held, only the delivery itself has what it is about.
  if (!context.hold || message.key().text.empty()) return std::nullopt;
  const StoreFacets facets = context.store->facets();
  if (facets.dead_letters == nullptr || facets.records == nullptr) return std::nullopt;
  const KeyId& id = message.key().id;
  const auto replaced =
      facets.dead_letters->replaces(id, message.key().text, conflict.recorded, conflict.arrived);
  // If this is not known, a dead letter made now could be the second one of its message.
  if (!replaced) return Busy{kAskHolderAgain};
  const auto record = facets.records->show(id);
  // The letter was edited once more since the claim, or forgotten: the next claim shows which.
  if (!record || !*record || (*record)->fingerprint != conflict.recorded) {
    return Busy{kAskHolderAgain};
  }
  if (!*replaced) return std::nullopt;
  return answer_of(**record);
}

}  // namespace semel::strategies
