#include "tests/conformance/store_model.h"

#include <fmt/format.h>

namespace semel::conformance {

Bytes Model::any_key() { return fmt::format("k{}", below(key_count_)); }

Message Model::any_message(ConsumerNumber consumer, const Bytes& key) {
  return test::make_message(consumer, key, below(8) == 0 ? "other payload" : "payload");
}

Finish Model::any_finish(const Lease& lease, const Message* keep) {
  switch (below(6)) {
    case 0:
      return test::completed(lease, fmt::format("result {}", below(100)));
    case 1:
      return test::parked(lease, keep, "operator");
    case 2:
      return test::dead(lease, keep, "handler.native");
    case 3:
      return test::not_started(lease);
    default: {
      Finish again = test::retrying(lease, kStep * below(4) + kMargin, keep);
      again.counted = below(3) != 0;
      return again;
    }
  }
}

Claim Model::claim(const Message& message, milliseconds lease) {
  spi::ClaimRequest request;
  request.key = message.key().id;
  request.fingerprint = message.fingerprint();
  request.lease = lease;
  request.nonce.bytes.fill(0xee);
  return spi::decide_claim(keys[message.key().text].record, request, now);
}

Applied Model::finish(Modelled& modelled, const Finish& finish) const {
  const Applied applied = spi::decide_finish(modelled.record, finish, now);
  const bool waits = finish.to == Finish::To::kRetrying || finish.to == Finish::To::kParked;
  if (applied == Applied::kYes && waits && finish.keep != nullptr) modelled.record->held = true;
  return applied;
}

std::string essence(const Claim& claim) {
  if (const auto* acquired = std::get_if<Acquired>(&claim)) {
    return fmt::format("{} since {} steps", describe(claim), acquired->since_first / kStep);
  }
  if (const auto* completed = std::get_if<Completed>(&claim)) {
    return "Completed " + completed->result;
  }
  if (is<Busy>(claim)) return "Busy";
  if (const auto* waiting = std::get_if<Waiting>(&claim)) {
    return fmt::format("Waiting {} steps", waiting->next_in / kStep);
  }
  return describe(claim);
}

}  // namespace semel::conformance
