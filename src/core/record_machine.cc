#include <semel/spi/record_machine.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace semel::spi {
namespace {

milliseconds since(StoreTime then, StoreTime now) noexcept {
  return std::max(now - then, milliseconds(0));
}

bool held_by(const Record& record, const Nonce& nonce) noexcept {
  return record.state == RecordState::kConsuming && record.nonce == nonce;
}

bool tells_of_earlier(const Record& record) noexcept {
  return record.outcome_unknown || !record.reason.empty() || !record.error.empty();
}

Acquired acquired_by(const KeyId& id, const Record& record, StoreTime now) {
  Acquired acquired;
  acquired.lease = {id, record.token, record.nonce};
  acquired.attempt = record.attempt;
  // Also after a failure that was caught: an earlier attempt with an unknown outcome is still
  // unknown.
  acquired.taken_over = record.outcome_unknown;
  acquired.since_first = since(record.first_seen, now);
  acquired.had_record = record.attempt > 1 || tells_of_earlier(record);
  return acquired;
}

Acquired acquire(Record& record, const ClaimRequest& request, StoreTime now) {
  record.state = RecordState::kConsuming;
  record.token = request.token;
  record.nonce = request.nonce;
  record.lease_until = due_after(now, request.lease);
  record.next_at = StoreTime{};
  ++record.attempt;
  return acquired_by(request.key, record, now);
}

Acquired acquire_again(Record& record, const ClaimRequest& request, StoreTime now) {
  Acquired acquired = acquire(record, request, now);
  acquired.had_record = true;
  return acquired;
}

Acquired take_over(Record& record, const ClaimRequest& request, StoreTime now) {
  record.outcome_unknown = true;
  Acquired acquired = acquire_again(record, request, now);
  acquired.lease_ended = true;
  return acquired;
}

Record new_record(const ClaimRequest& request, StoreTime now) {
  Record record;
  record.fingerprint = request.fingerprint;
  record.first_seen = now;
  return record;
}

// Undoes the claim. A first one leaves nothing behind; after any other the record can be claimed
// immediately, whatever it waited for before.
void undo_claim(std::optional<Record>& record, StoreTime now) {
  record->attempt = std::max(record->attempt - 1, 0);
  if (record->attempt == 0 && !tells_of_earlier(*record)) {
    record.reset();
    return;
  }
  record->state = RecordState::kRetrying;
  record->next_at = now;
}

void close(Record& record, RecordState state, const Finish& finish) {
  record.state = state;
  record.reason = finish.reason;
  record.error = finish.error;
}

}  // namespace

StoreTime due_after(StoreTime now, milliseconds delay) noexcept {
  if (delay <= milliseconds(0)) return now;
  return delay > kLatestDue - now ? kLatestDue : now + delay;
}

StoreTime due_when_sent(StoreTime now, milliseconds delay) noexcept {
  return delay <= milliseconds(0) ? kDueAtOnce : due_after(now, delay);
}

Nonce draw_nonce(Random& random) {
  const std::uint64_t words[] = {random.next(), random.next()};
  Nonce nonce;
  static_assert(sizeof words == sizeof nonce.bytes);
  std::memcpy(nonce.bytes.data(), words, sizeof words);
  return nonce;
}

bool same_fingerprint(const Fingerprint& recorded, const Fingerprint& arrived) noexcept {
  return arrived == Fingerprint{} || arrived == recorded;
}

RecordView view_of(const KeyId& id, Record record) {
  RecordView view;
  view.consumer = id.consumer();
  view.id = id;
  view.state = record.state;
  view.fingerprint = record.fingerprint;
  if (record.state == RecordState::kCompleted) {
    view.completed_at = record.completed_at;
    view.result = std::move(record.result);
    return view;
  }
  view.attempt = record.attempt;
  view.token = static_cast<std::uint64_t>(record.token);
  view.reason = std::move(record.reason);
  view.error = std::move(record.error);
  view.outcome_unknown = record.outcome_unknown;
  view.first_seen = record.first_seen;
  if (record.state == RecordState::kConsuming) view.lease_until = record.lease_until;
  if (record.state == RecordState::kRetrying) view.next_at = record.next_at;
  return view;
}

milliseconds busy_for(StoreTime until, StoreTime now) noexcept {
  return std::clamp(until - now, kShortestBusy, kLongestBusy);
}

Claim decide_claim(std::optional<Record>& record, const ClaimRequest& request, StoreTime now) {
  if (!record) {
    record = new_record(request, now);
    return acquire(*record, request, now);
  }
  if (!same_fingerprint(record->fingerprint, request.fingerprint)) {
    return Conflict{record->fingerprint, request.fingerprint};
  }
  switch (record->state) {
    case RecordState::kConsuming:
      if (now < record->lease_until) return Busy{busy_for(record->lease_until, now)};
      return take_over(*record, request, now);
    case RecordState::kRetrying:
      if (now >= record->next_at) return acquire_again(*record, request, now);
      // Without a payload in the store, this delivery is the one that the retry will use.
      if (!record->held) return Busy{busy_for(record->next_at, now)};
      return Waiting{record->next_at - now};
    case RecordState::kCompleted:
      return Completed{record->result, record->completed_at};
    case RecordState::kParked:
      return Closed{true, record->reason, record->held};
    case RecordState::kDead:
      return Closed{false, record->reason};
  }
  std::abort();
}

std::optional<Acquired> acquired_before(Record& record, const ClaimRequest& request,
                                        StoreTime now) {
  if (request.nonce == Nonce{} || !held_by(record, request.nonce)) return std::nullopt;
  record.lease_until = due_after(now, request.lease);
  return acquired_by(request.key, record, now);
}

bool decide_renew(Record& record, const Nonce& nonce, milliseconds lease, StoreTime now) {
  if (!held_by(record, nonce)) return false;
  record.lease_until = due_after(now, lease);
  return true;
}

Applied decide_finish(std::optional<Record>& record, const Finish& finish, StoreTime now) {
  if (!finish.lease || finish.to == Finish::To::kAckOnly) {
    std::fputs("semel: a record was to be finished without a lease on it\n", stderr);
    std::abort();
  }
  if (!record || !held_by(*record, finish.lease->nonce)) return Applied::kLeaseLost;
  // A finished record has no holder: not even the nonce that finished it may write again.
  record->nonce = Nonce{};
  record->lease_until = StoreTime{};
  record->outcome_unknown = record->outcome_unknown || finish.unknown;
  switch (finish.to) {
    case Finish::To::kCompleted:
      close(*record, RecordState::kCompleted, finish);
      record->result = finish.result;
      record->completed_at = now;
      record->outcome_unknown = false;
      break;
    case Finish::To::kRetrying:
      close(*record, RecordState::kRetrying, finish);
      record->next_at = due_after(now, finish.delay);
      if (!finish.counted) record->attempt = std::max(record->attempt - 1, 0);
      break;
    case Finish::To::kParked:
      close(*record, RecordState::kParked, finish);
      break;
    case Finish::To::kDead:
      close(*record, RecordState::kDead, finish);
      break;
    case Finish::To::kNotStarted:
      undo_claim(record, now);
      break;
    case Finish::To::kAckOnly:
      break;
  }
  return Applied::kYes;
}

bool decide_unlock(Record& record, StoreTime now) {
  if (record.state != RecordState::kParked && record.state != RecordState::kDead) return false;
  record.state = RecordState::kRetrying;
  record.next_at = now;
  return true;
}

bool decide_seize(Record& record, const Nonce& nonce, milliseconds lease, StoreTime now) {
  const bool abandoned = record.state == RecordState::kConsuming && now >= record.lease_until;
  if (record.state != RecordState::kParked && !abandoned) return false;
  record.state = RecordState::kConsuming;
  record.nonce = nonce;
  record.lease_until = due_after(now, lease);
  record.next_at = StoreTime{};
  record.outcome_unknown = false;
  return true;
}

Edited decide_edit(const Record& record, const Fingerprint& letter) noexcept {
  if (record.state == RecordState::kCompleted) return Edited::kCompleted;
  if (!same_fingerprint(record.fingerprint, letter)) return Edited::kConflict;
  if (record.state != RecordState::kDead) return Edited::kBusy;
  return record.outcome_unknown ? Edited::kUnknownOutcome : Edited::kYes;
}

bool same_header(const Header& one, const Header& other) noexcept {
  return one.name == other.name && one.value == other.value;
}

bool is_as_seen(const DeadLetter& letter, const LetterEdit& edit) noexcept {
  return letter.fingerprint == edit.before && letter.payload == edit.payload_before &&
         std::ranges::equal(letter.headers, edit.headers_before, same_header);
}

}  // namespace semel::spi
