#include "stores/mysql/unit_claims.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "stores/mysql/claim_request.h"

namespace semel::mysql {
namespace {

// Twins may be inserted between the look and the insert, and a transaction may be undone because of
// another one, but not for ever.
constexpr int kMostTries = 16;
// The patience after a key that was waited for long enough.
constexpr std::chrono::milliseconds kAlone{50};

}  // namespace

struct UnitClaims::Request : ClaimRequest {
  Request(std::span<const Message* const> all, const UnitOptions& wanted, std::int64_t into)
      : ClaimRequest(all, into), options(wanted), patience(wanted.patience) {}

  const UnitOptions& options;
  std::chrono::milliseconds patience;
  std::vector<std::optional<sql::Claimed>> claimed_at;

  sql::Claimed& remember(std::uint32_t at) {
    sql::Claimed& claimed = claimed_at[at].emplace();
    claimed.id = id(at);
    claimed.fingerprint = message(at).fingerprint();
    claimed.key = message(at).key().text;
    return claimed;
  }
  // A new record of its own.
  void made(std::uint32_t at, std::optional<std::int64_t> inbox) {
    sql::Claimed& claimed = remember(at);
    claimed.inbox = inbox;
    Acquired acquired;
    acquired.lease.key = claimed.id;
    answers[at] = acquired;
  }
};

std::vector<Claim> UnitClaims::claim(std::span<const Message* const> messages,
                                     const UnitOptions& options, std::int64_t generation) {
  claimed_.clear();
  Request request(messages, options, generation);
  if (connection_.borrowed()) {
    claim_inside(request);
  } else {
    claim_until_settled(request);
  }
  for (auto& one : request.claimed_at) {
    if (one) claimed_.add(*std::move(one));
  }
  return std::move(request.answers);
}

void UnitClaims::claim_until_settled(Request& request) {
  for (int tries = 1;; ++tries) {
    try {
      if (claim_once(request)) break;
      connection_.roll_back();
    } catch (const sql::Failure& failed) {
      connection_.roll_back();
      const ErrorKind kind = failed.error().kind;
      if (tries >= kMostTries) throw;
      const bool again =
          kind == ErrorKind::kBlocked ? answer_held(request) : kind == ErrorKind::kRetryTransaction;
      if (!again) throw;
    }
    if (tries >= kMostTries) {
      sql::fail(
          {ErrorKind::kRetryTransaction, "R200", "others claim the same keys all the time", {}}, 1);
    }
  }
}

// All of them together. If one is locked by another for too long, each by itself: that shows which
// one.
void UnitClaims::claim_inside(Request& request) {
  if (request.open.size() > 1) {
    try {
      connection_.begin(request.patience);
      return make_inside(request, request.open);
    } catch (const sql::Failure& failed) {
      if (failed.error().kind != ErrorKind::kBlocked) throw;
    }
    connection_.roll_back();
  }
  connection_.begin(request.patience);
  request.claimed_at.assign(request.messages.size(), std::nullopt);
  for (const std::uint32_t at : request.open) {
    request.answers[at] = Busy{spi::kShortestBusy};
    try {
      make_inside(request, {&at, 1});
    } catch (const sql::Failure& failed) {
      // Only the statement is undone.
      if (failed.error().kind != ErrorKind::kBlocked) throw;
      request.answers[at] = Busy{spi::kLongestBusy};
    }
  }
}

// A read might see rows that are old or not committed: so keys are inserted first, and an existing
// row is read with its lock.
void UnitClaims::make_inside(Request& request, std::span<const std::uint32_t> open) {
  request.claimed_at.resize(request.messages.size());
  std::vector<RecordBatch::New> records;
  records.reserve(open.size());
  for (const std::uint32_t at : open) {
    RecordBatch::New& record = records.emplace_back();
    record.id = request.id(at);
    record.fingerprint = &request.message(at).fingerprint();
    if (request.options.inbox) record.inbox = connection_.next_number(sql::Counter::kInbox);
  }
  const std::vector<bool> made =
      RecordBatch(connection_, clock_).make_completed(records, request.generation);
  request.due.clear();
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (made[i]) {
      request.made(open[i], records[i].inbox);
    } else {
      request.due.push_back(open[i]);
    }
  }
  lock_due(request, request.options.want_result);
}

bool UnitClaims::claim_once(Request& request) {
  request.claimed_at.assign(request.messages.size(), std::nullopt);
  if (trend_.new_keys()) return claim_as_new(request);
  look(request);
  trend_.note(request.missing.size() == request.open.size());
  connection_.begin(request.patience);
  if (!make_new(request)) return false;
  lock_due(request, false);
  return true;
}

// One round trip instead of two. A miss costs a transaction, so the next attempt is delayed.
bool UnitClaims::claim_as_new(Request& request) {
  request.missing = request.open;
  request.due.clear();
  connection_.begin(request.patience);
  const bool made = make_new(request);
  trend_.note(made);
  return made;
}

void UnitClaims::look(Request& request) {
  const bool want_result = request.options.want_result;
  FoundRows found =
      RecordBatch(connection_, clock_).find(request.ids(request.open), Hold::kNothing, want_result);
  std::vector<bool> there(request.messages.size());
  request.due.clear();
  request.missing.clear();
  for (Found& one : found.rows) {
    const std::uint32_t at = request.at(one.id);
    there[at] = true;
    std::optional<spi::Record> record = std::move(one.row.record);
    Claim answer = spi::decide_claim(
        record, {one.id, request.message(at).fingerprint(), {}, {}, {}}, found.now);
    if (std::holds_alternative<Acquired>(answer)) {
      request.due.push_back(at);
      continue;
    }
    if (auto* const completed = std::get_if<Completed>(&answer); completed && !want_result) {
      completed->result.clear();
    }
    request.answers[at] = std::move(answer);
  }
  std::ranges::copy_if(request.open, std::back_inserter(request.missing),
                       [&](std::uint32_t at) { return !there[at]; });
}

// False where another process made one of them meanwhile.
bool UnitClaims::make_new(Request& request) {
  std::vector<RecordBatch::New> records;
  records.reserve(request.missing.size());
  for (const std::uint32_t at : request.missing) {
    const Message& message = request.message(at);
    RecordBatch::New& one = records.emplace_back();
    one.id = message.key().id;
    one.fingerprint = &message.fingerprint();
    if (request.options.inbox) one.inbox = connection_.next_number(sql::Counter::kInbox);
  }
  RecordBatch(connection_, clock_).queue_completed(records, request.generation);
  std::size_t made = 0;
  for (const Said& one : connection_.run()) made += one.changed;
  if (made < records.size()) return false;
  for (std::size_t i = 0; i < records.size(); ++i) {
    request.made(request.missing[i], records[i].inbox);
  }
  return true;
}

void UnitClaims::lock_due(Request& request, bool want_result) {
  if (request.due.empty()) return;
  FoundRows found =
      RecordBatch(connection_, clock_).find(request.ids(request.due), Hold::kLock, want_result);
  for (Found& one : found.rows) {
    const std::uint32_t at = request.at(one.id);
    std::optional<spi::Record> record = one.row.record;
    Claim answer = spi::decide_claim(
        record, {one.id, request.message(at).fingerprint(), {}, {}, {}}, found.now);
    if (std::holds_alternative<Acquired>(answer)) {
      one.row.record = *std::move(record);
      one.row.holder.reset();
      sql::Claimed& claimed = request.remember(at);
      claimed.at = found.now;
      claimed.inbox = one.row.inbox;
      claimed.live = std::move(one.row);
    }
    request.answers[at] = std::move(answer);
  }
}

// Another transaction holds one of them for longer than the patience. False where it was twice
// impossible to find out which.
bool UnitClaims::answer_held(Request& request) {
  const bool before = std::exchange(request.patience, kAlone) == kAlone;
  const std::vector<KeyId> held =
      RecordBatch(connection_, clock_).held_by_others(request.ids(request.open));
  std::erase_if(request.open, [&](std::uint32_t at) {
    const bool is_held = std::ranges::binary_search(held, request.id(at));
    if (is_held) request.answers[at] = Busy{spi::kLongestBusy};
    return is_held;
  });
  return !before || !held.empty();
}

}  // namespace semel::mysql
