#include "stores/redis/claim_answer.h"

#include <variant>
#include <vector>

#include <semel/spi/record_machine.h>

#include "core/failure.h"
#include "stores/redis/record.h"

namespace semel::redis {

using std::chrono::milliseconds;

namespace {

Acquired newly_acquired(const KeyId& id, const Nonce& nonce, std::int64_t token) {
  Acquired acquired;
  acquired.lease = {id, Token{static_cast<std::uint64_t>(token)}, nonce};
  return acquired;
}

// In the answer to a claim alone, beside the record's own flags.
bool says_lease_ended(BytesView answer) {
  constexpr std::size_t kFlags = 2;
  constexpr unsigned kLeaseEnded = 128;
  return (static_cast<unsigned char>(answer[kFlags]) & kLeaseEnded) != 0;
}

// `lease`: of a claim that is asked for a second time, because its answer was lost. It may have
// made the record the first time, and no renewal has moved the lease's end since.
bool had_record(const spi::Record& record, std::optional<milliseconds> lease) {
  const bool first = record.attempt == 1 && !record.outcome_unknown;
  return !lease || !first || record.lease_until - record.first_seen > *lease;
}

Claim answer_for(const Message& message, const Nonce& nonce, const Reply& said, StoreTime now,
                 std::optional<milliseconds> again) {
  const KeyId& id = message.key().id;
  if (said.kind == Reply::Kind::kNumber) return newly_acquired(id, nonce, said.number);
  std::optional<spi::Record> record = decoded(said.bytes);
  const bool had = had_record(*record, again);
  const spi::ClaimRequest request{id, message.fingerprint(), {}, nonce, {}};
  if (auto before = spi::acquired_before(*record, request, now)) {
    before->lease_ended = says_lease_ended(said.bytes);
    before->had_record = had;
    return *before;
  }
  Claim claim = spi::decide_claim(record, request, now);
  if (std::holds_alternative<Acquired>(claim)) {
    core::fail(
        {ErrorKind::kUnavailable, "R200", "the server did not give what it could have given", {}});
  }
  return claim;
}

}  // namespace

Claim answer_to_claim(const Message& message, const Nonce& nonce, const Reply& reply, std::size_t i,
                      std::optional<milliseconds> again) {
  if (reply.is_error()) throw failure_of(reply);
  const std::vector<Reply>& said = reply.list;
  const StoreTime now{milliseconds(said.at(0).number)};
  // All of them are new: their tokens are consecutive.
  const bool all_new = said.size() == 2 && said[1].kind == Reply::Kind::kNumber;
  if (!all_new) return answer_for(message, nonce, said.at(i + 1), now, again);
  return newly_acquired(message.key().id, nonce, said[1].number + static_cast<std::int64_t>(i));
}

}  // namespace semel::redis
