// The record's state machine: the rules of claim, renew and finish that every store obeys.
//
// Pure: a store loads what it keeps for a key into a Record, calls a rule, and writes the changed
// Record back, in one commit that no other holder of the key can cut in two. A store that decides
// in statements or scripts of its own must give the same answers: the conformance suites compare
// them (semel/conformance/store_case.h). Thread-safe; throws std::bad_alloc alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/admin/records.h>
#include <semel/environment.h>
#include <semel/spi/claim.h>
#include <semel/spi/finish.h>

namespace semel::spi {

using std::chrono::milliseconds;

// Everything that a store keeps of a record for these rules. A completed one needs only its
// fingerprint, result and completed_at.
struct Record {
  RecordState state = RecordState::kConsuming;
  Fingerprint fingerprint;
  Token token{};
  Nonce nonce;
  StoreTime lease_until{};
  int attempt = 0;
  bool outcome_unknown = false;
  StoreTime next_at{};
  StoreTime first_seen{};
  StoreTime completed_at{};
  std::string reason;
  std::string error;
  Bytes result;
  // The store keeps the payload, in a row of this record. The rules read it and never change it: a
  // store sets it from what it found, before each claim. A store that keeps no messages leaves it
  // false.
  bool held = false;
};

struct ClaimRequest {
  KeyId key;
  Fingerprint fingerprint;  // of the message that arrived
  Token token{};            // for the case that it is acquired: greater than any before
  Nonce nonce;              // likewise: new for each claim
  milliseconds lease{0};
};

// The record as an operator sees it; the store adds the text of its key.
[[nodiscard]] RecordView view_of(const KeyId& id, Record record);

// How soon to look at a busy key again: the rest of its lease, or the time until its retry is due,
// within these bounds. Most holders end long before their lease does.
inline constexpr milliseconds kShortestBusy{10};
inline constexpr milliseconds kLongestBusy{5'000};
[[nodiscard]] milliseconds busy_for(StoreTime until, StoreTime now) noexcept;

// `delay` from `now`, without overflow: a message due in the far future is due nevertheless. Not
// before `now`.
[[nodiscard]] StoreTime due_after(StoreTime now, milliseconds delay) noexcept;
// The due time of a message that nothing delays: it stays due when the store's clock is set back.
// Such messages are in the order of their numbers, among delayed ones since they were sent.
inline constexpr StoreTime kDueAtOnce{};
// When a message that was sent with this delay is due.
[[nodiscard]] StoreTime due_when_sent(StoreTime now, milliseconds delay) noexcept;
// The latest due time. Every database can store this time, and later ones for rows that are never
// due.
inline constexpr StoreTime kLatestDue{
    std::chrono::sys_days(std::chrono::year(9999) / std::chrono::December / 30) - milliseconds(1)};

// Drawn for each claim.
[[nodiscard]] Nonce draw_nonce(Random& random);

// Whether two payloads count as the same. An all-zero fingerprint means that the consumer keeps
// none.
[[nodiscard]] bool same_fingerprint(const Fingerprint& recorded,
                                    const Fingerprint& arrived) noexcept;

// Answers a claim on `record` (none: the key is new) at `now`; changes or makes it where acquired.
[[nodiscard]] Claim decide_claim(std::optional<Record>& record, const ClaimRequest& request,
                                 StoreTime now);

// The answer to a claim that is repeated under its own nonce, because its answer was lost: as it
// was answered before, and the lease ends `request.lease` from now, also where it had ended and
// nobody had taken the record over. None where that nonce does not hold it; then nothing changes,
// and decide_claim() answers. An all-zero nonce holds nothing.
[[nodiscard]] std::optional<Acquired> acquired_before(Record& record, const ClaimRequest& request,
                                                      StoreTime now);

// True where `nonce` still holds the record; then its lease ends `lease` from now.
[[nodiscard]] bool decide_renew(Record& record, const Nonce& nonce, milliseconds lease,
                                StoreTime now);

// Applies `finish`, which has a lease, where its nonce holds the record. kNotStarted gives the
// attempt back: a first one empties `record`, after any other it can be claimed immediately.
[[nodiscard]] Applied decide_finish(std::optional<Record>& record, const Finish& finish,
                                    StoreTime now);

// By an operator: a parked or dead record becomes retrying, due now. False in any other state.
[[nodiscard]] bool decide_unlock(Record& record, StoreTime now);

// An operator takes the record to decide how it ended: parked, or consuming with its lease over,
// becomes consuming under `nonce`, its outcome known. False in any other state.
[[nodiscard]] bool decide_seize(Record& record, const Nonce& nonce, milliseconds lease,
                                StoreTime now);

// Whether the record lets a dead letter of fingerprint `letter` get another payload: where it is
// dead, speaks for that letter, and nothing says that the old payload may have had its effect.
[[nodiscard]] Edited decide_edit(const Record& record, const Fingerprint& letter) noexcept;

// Whether name and value are the same, byte for byte.
[[nodiscard]] bool same_header(const Header& one, const Header& other) noexcept;

// Whether the letter still has the fingerprint, the payload and the headers that the caller of
// DeadLetters::edit saw.
[[nodiscard]] bool is_as_seen(const DeadLetter& letter, const LetterEdit& edit) noexcept;

}  // namespace semel::spi
