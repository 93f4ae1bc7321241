#include "stores/mysql/lease_claims.h"

#include <algorithm>
#include <utility>

#include "stores/mysql/claim_request.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

// Between two looks a record may be removed or added, and a transaction may be undone because of
// another one, but not for ever.
constexpr int kMostClaimTries = 8;
// The server's shortest wait: a longer holder is found in another way without waiting.
constexpr milliseconds kRowPatience{1'000};

void erase_answered(std::vector<std::uint32_t>& open, const std::vector<bool>& done) {
  std::erase_if(open, [&](std::uint32_t i) { return done[i]; });
}

}  // namespace

struct LeaseClaims::Request : ClaimRequest {
  Request(std::span<const Message* const> all, std::span<const Nonce> their_nonces,
          const ClaimOptions& wanted, std::int64_t into, std::int64_t holder)
      : ClaimRequest(all, into), nonces(their_nonces), options(wanted), instance(holder) {}

  const std::span<const Nonce> nonces;
  const ClaimOptions& options;
  const std::int64_t instance;
  // From the last look: records that this call has made before, when its answer was lost.
  std::vector<Acquired> own;
};

std::vector<Claim> LeaseClaims::claim(std::span<const Message* const> messages,
                                      std::span<const Nonce> nonces, const ClaimOptions& options,
                                      std::int64_t generation, std::int64_t instance) {
  Request request(messages, nonces, options, generation, instance);
  for (int tries = 1; !request.open.empty() && tries <= kMostClaimTries; ++tries) {
    try {
      if (tries == 1 && trend_.new_keys()) {
        claim_as_new(request);
      } else {
        claim_once(request);
      }
    } catch (const sql::Failure& failed) {
      connection_.roll_back();
      const ErrorKind kind = failed.error().kind;
      if (kind == ErrorKind::kBlocked) {
        answer_held(request);
      } else if (kind != ErrorKind::kRetryTransaction || tries == kMostClaimTries) {
        throw;
      }
    }
  }
  return std::move(request.answers);
}

// One round trip instead of two. A miss costs a transaction, so the next attempt is delayed.
void LeaseClaims::claim_as_new(Request& request) {
  request.missing = request.open;
  request.due.clear();
  make_new(request);
  trend_.note(request.open.empty());
}

void LeaseClaims::claim_once(Request& request) {
  const std::size_t asked = request.open.size();
  look(request);
  trend_.note(request.missing.size() == asked);
  if (!request.own.empty()) {
    renew_own(request);
  } else if (!request.due.empty()) {
    take_over(request);
  } else if (!request.missing.empty()) {
    make_new(request);
  }
}

void LeaseClaims::look(Request& request) {
  const bool want_result = request.options.want_result;
  FoundRows found =
      RecordBatch(connection_, clock_).find(request.ids(request.open), Hold::kNothing, want_result);
  std::vector<bool> there(request.messages.size());
  std::vector<bool> done(request.messages.size());
  request.own.clear();
  for (Found& one : found.rows) {
    const std::uint32_t at = request.at(one.id);
    there[at] = true;
    std::optional<spi::Record> record = std::move(one.row.record);
    const spi::ClaimRequest again{one.id, {}, {}, request.nonces[at], request.options.lease};
    if (const auto before = spi::acquired_before(*record, again, found.now)) {
      request.own.push_back(*before);
      continue;
    }
    Claim answer = spi::decide_claim(
        record, {one.id, request.message(at).fingerprint(), {}, {}, {}}, found.now);
    if (std::holds_alternative<Acquired>(answer)) continue;
    if (auto* const completed = std::get_if<Completed>(&answer); completed && !want_result) {
      completed->result.clear();
    }
    request.answers[at] = std::move(answer);
    done[at] = true;
  }
  erase_answered(request.open, done);
  request.missing.clear();
  request.due.clear();
  for (const std::uint32_t at : request.open) {
    (there[at] ? request.due : request.missing).push_back(at);
  }
}

void LeaseClaims::make_new(Request& request) {
  std::vector<RecordBatch::New> records;
  records.reserve(request.missing.size());
  for (const std::uint32_t at : request.missing) {
    const Message& message = request.message(at);
    records.push_back({message.key().id, &message.fingerprint(), std::nullopt, &request.nonces[at],
                       message.key().text});
  }
  RecordBatch batch(connection_, clock_);
  connection_.begin(kRowPatience);
  batch.queue_consuming(records, request.generation, request.options.lease, request.instance);
  batch.queue_token();
  batch.queue_tokens_of(records);
  const std::vector<Said> said = connection_.run();
  // The parts are at the end, after the token's answer. Before the token, each was made, and listed
  // where it was missing.
  std::size_t at = said.size();
  while (said[at - 1].rows == nullptr) --at;
  const std::size_t token_begins = at - RecordBatch::kTokenStatements;
  const std::size_t parts = said.size() - at;
  std::size_t made = 0;
  for (std::size_t part = 1; part <= parts; ++part) made += said[token_begins - 2 * part].changed;
  // Another process was quicker with one: the next look shows the holder of each.
  if (made < records.size()) return connection_.roll_back();
  connection_.commit();
  sql::Answer token = answer_of(said[at - 1]);
  token.next();
  std::vector<bool> done(request.messages.size());
  std::uint64_t number = static_cast<std::uint64_t>(token.integer(0));
  for (const std::uint32_t one : request.missing) {
    Acquired acquired;
    acquired.lease = {request.id(one), static_cast<Token>(number++), request.nonces[one]};
    request.answers[one] = acquired;
    done[one] = true;
  }
  erase_answered(request.open, done);
}

void LeaseClaims::take_over(Request& request) {
  RecordBatch batch(connection_, clock_);
  connection_.begin(kRowPatience);
  FoundRows found = batch.find(request.ids(request.due), Hold::kLock);
  batch.queue_token();
  const std::vector<Said> said = connection_.run();
  sql::Answer token = answer_of(said.back());
  token.next();
  std::uint64_t number = static_cast<std::uint64_t>(token.integer(0));
  sql::RecordRows rows(connection_, records_);
  std::vector<bool> done(request.messages.size());
  for (Found& one : found.rows) {
    const std::uint32_t at = request.at(one.id);
    const milliseconds since_first = found.now - one.row.record.first_seen;
    std::optional<spi::Record> record = one.row.record;
    Claim answer =
        spi::decide_claim(record,
                          {one.id, request.message(at).fingerprint(), static_cast<Token>(number++),
                           request.nonces[at], request.options.lease},
                          found.now);
    if (!std::holds_alternative<Acquired>(answer)) continue;
    one.row.record = *std::move(record);
    one.row.holder = request.instance;
    rows.save(one.id, one.row, found.now);
    std::get<Acquired>(answer).since_first = std::max(since_first, milliseconds(0));
    request.answers[at] = std::move(answer);
    done[at] = true;
  }
  connection_.commit();
  erase_answered(request.open, done);
}

// One that has been taken over since stays open: the next look answers for it.
void LeaseClaims::renew_own(Request& request) {
  std::vector<Lease> leases;
  leases.reserve(request.own.size());
  for (const Acquired& one : request.own) leases.push_back(one.lease);
  RecordBatch batch(connection_, clock_);
  connection_.begin(kRowPatience);
  const std::vector<sql::Holding> held = batch.lock_held(leases);
  batch.queue_renewal(held, request.options.lease);
  connection_.commit();
  const std::vector<Applied> renewed = sql::applied(leases, held);
  std::vector<bool> done(request.messages.size());
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if (renewed[i] != Applied::kYes) continue;
    const std::uint32_t at = request.at(leases[i].key);
    request.answers[at] = request.own[i];
    done[at] = true;
  }
  erase_answered(request.open, done);
}

// Another transaction has held one of them for long.
void LeaseClaims::answer_held(Request& request) {
  const std::vector<KeyId> held =
      RecordBatch(connection_, clock_).held_by_others(request.ids(request.open));
  std::vector<bool> done(request.messages.size());
  for (const KeyId& id : held) {
    const std::uint32_t at = request.at(id);
    request.answers[at] = Busy{spi::kLongestBusy};
    done[at] = true;
  }
  erase_answered(request.open, done);
}

}  // namespace semel::mysql
