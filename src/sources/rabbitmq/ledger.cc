#include "sources/rabbitmq/ledger.h"

#include <algorithm>
#include <utility>

namespace semel::rabbitmq {

Ledger::Taken Ledger::take() {
  const auto taken = deliveries_.take();
  return taken.value == nullptr ? Taken{} : Taken{taken.position, taken.value->get()};
}

bool Ledger::settle(std::uint64_t tag, Settlement::Kind kind) {
  if (!deliveries_.settle(tag, kind)) return false;
  if (kind == Settlement::Kind::kAck || kind == Settlement::Kind::kGone) acked_.push_back(tag);
  return true;
}

// One frame for all deliveries up to the first unsettled one, and one for each settled one after
// it. So a slow message does not delay other acknowledgements, and finished messages use up neither
// the prefetch nor the broker's ack timeout.
std::vector<Ledger::Ack> Ledger::take_acks() {
  std::vector<std::uint64_t> acked = std::exchange(acked_, {});
  std::sort(acked.begin(), acked.end());
  const auto prefix = deliveries_.prefix();
  const auto behind =
      prefix ? std::upper_bound(acked.begin(), acked.end(), *prefix) : acked.begin();
  std::vector<Ack> acks;
  if (behind != acked.begin()) acks.push_back({*(behind - 1), behind - acked.begin() > 1});
  for (auto tag = behind; tag != acked.end(); ++tag) acks.push_back({*tag, false});
  return acks;
}

}  // namespace semel::rabbitmq
