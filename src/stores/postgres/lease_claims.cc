#include "stores/postgres/lease_claims.h"

#include <algorithm>
#include <utility>

#include "stores/sql/claims.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// Between two looks a record may be removed or added, and generations may change, but not for ever.
constexpr int kMostLooks = 4;
constexpr int kMostMoves = 8;

Claim claim_of(Found& found, const Message& message, StoreTime now, bool want_result) {
  std::optional<spi::Record> record = std::move(found.row.record);
  Claim answer = spi::decide_claim(record, {found.id, message.fingerprint(), {}, {}, {}}, now);
  // It became due between two statements: the next claim takes it.
  if (std::holds_alternative<Acquired>(answer)) return Busy{spi::kShortestBusy};
  if (auto* const completed = std::get_if<Completed>(&answer); completed && !want_result) {
    completed->result.clear();
  }
  return answer;
}

}  // namespace

struct LeaseClaims::Request {
  std::span<const Message* const> messages;
  std::span<const Nonce> nonces;
  const ClaimOptions& options;
  std::int64_t instance;
  std::vector<std::uint32_t> open;  // not answered yet, in the order of their ids
  std::vector<Claim> answers;

  const Message& message(std::uint32_t at) const { return *messages[at]; }
  // The answer where that record is held by this claim's own nonce.
  std::optional<Acquired> before(std::uint32_t at, Found& found, StoreTime now) const {
    const spi::ClaimRequest again{found.id, {}, {}, nonces[at], options.lease};
    return spi::acquired_before(found.row.record, again, now);
  }
  ConsumerNumber consumer() const { return messages.front()->key().id.consumer(); }
  // Its index among the open ones, by id.
  std::uint32_t at(const KeyId& id) const {
    return *std::ranges::lower_bound(
        open, id, {}, [&](std::uint32_t i) -> const KeyId& { return messages[i]->key().id; });
  }
  void answered(const std::vector<bool>& done) {
    std::erase_if(open, [&](std::uint32_t i) { return done[i]; });
  }
};

std::vector<Claim> LeaseClaims::claim(Connection& connection,
                                      std::span<const Message* const> messages,
                                      std::span<const Nonce> nonces, const ClaimOptions& options,
                                      std::int64_t instance) {
  Request request{messages, nonces, options, instance, sql::in_order(messages), {}};
  request.answers.assign(messages.size(), Busy{spi::kShortestBusy});
  try {
    claim_all(connection, request, messages.size() > 1 ? patience_ : kSingleClaimPatience);
  } catch (const sql::Failure& failed) {
    if (failed.error().kind != ErrorKind::kBlocked) throw;
    if (messages.size() == 1) return {Busy{spi::kLongestBusy}};
    // The server does not say which one is held: each unanswered one is tried by itself.
    for (const std::uint32_t at : request.open) {
      request.answers[at] = std::move(
          claim(connection, messages.subspan(at, 1), nonces.subspan(at, 1), options, instance)
              .front());
    }
  }
  return std::move(request.answers);
}

void LeaseClaims::claim_all(Connection& connection, Request& request, milliseconds patience) {
  for (int looks = 0, moves = 0; looks < kMostLooks && !request.open.empty();) {
    try {
      insert_new(connection, request, patience);
    } catch (const sql::Failure& failed) {
      // Nothing was done.
      if (!Generations::moved(failed) || ++moves > kMostMoves) throw;
      generations_.forget();
      continue;
    }
    if (request.open.empty()) return;
    look(connection, request, patience);
    ++looks;
  }
}

void LeaseClaims::set_patience(Connection& connection, milliseconds patience) {
  if (patience == patience_) return;
  WireParams params;
  params.add_kept_literal(std::to_string(patience.count()));
  connection.pipe().send(session_.patience, params);
}

void LeaseClaims::insert_new(Connection& connection, Request& request, milliseconds patience) {
  const Generations::Active active = generations_.active(connection, request.consumer());
  ArrayParam ids(oid::kBytea), prints(oid::kBytea), nonces(oid::kBytea), keys(oid::kBytea);
  for (const std::uint32_t i : request.open) {
    const Message& message = request.message(i);
    ids.add(message.key().id.view());
    prints.add(message.fingerprint().view());
    nonces.add(sql::Param(request.nonces[i]).bytes());
    keys.add(message.key().text);
  }
  WireParams params;
  params.add(ids);
  params.add(prints);
  params.add(nonces);
  params.add(keys);
  params.add_integer(request.options.lease.count());
  params.add_integer(request.instance);
  params.add_integer(active.version);
  set_patience(connection, patience);
  connection.queue(active.texts->insert_consuming, params);
  const auto results = connection.run();
  sql::Answer inserted = answer_of(results.back().get());
  std::vector<bool> done(request.messages.size());
  while (inserted.next()) {
    const KeyId id = inserted.key_id(0);
    const std::uint32_t at = request.at(id);
    Acquired acquired;
    acquired.lease = {id, static_cast<Token>(inserted.integer(1)), request.nonces[at]};
    request.answers[at] = acquired;
    done[at] = true;
  }
  request.answered(done);
}

void LeaseClaims::look(Connection& connection, Request& request, milliseconds patience) {
  ArrayParam ids(oid::kBytea), prints(oid::kBytea), nonces(oid::kBytea);
  for (const std::uint32_t i : request.open) {
    const Message& message = request.message(i);
    ids.add(message.key().id.view());
    prints.add(message.fingerprint().view());
    nonces.add(sql::Param(request.nonces[i]).bytes());
  }
  WireParams taking;
  taking.add(ids);
  taking.add(prints);
  taking.add(nonces);
  taking.add_integer(request.options.lease.count());
  taking.add_integer(request.instance);
  WireParams finding;
  finding.add(ids);
  const bool want_result = request.options.want_result;
  set_patience(connection, patience);
  connection.queue_planned(records_.take_over, taking);
  connection.queue_planned(want_result ? records_.find_with_result : records_.find, finding);
  const auto results = connection.run();
  std::vector<bool> done(request.messages.size());
  FoundRows taken = taken_in(results[results.size() - 2].get());
  for (Found& found : taken.rows) {
    const std::uint32_t at = request.at(found.id);
    if (auto taken_now = request.before(at, found, taken.now)) {
      taken_now->lease_ended = found.lease_ended;
      taken_now->had_record = true;
      request.answers[at] = *taken_now;
      done[at] = true;
    }
  }
  FoundRows there = found_in(results.back().get());
  std::vector<Acquired> own;
  for (Found& found : there.rows) {
    const std::uint32_t at = request.at(found.id);
    if (done[at]) continue;
    if (const auto before = request.before(at, found, there.now)) {
      own.push_back(*before);
      continue;
    }
    request.answers[at] = claim_of(found, request.message(at), there.now, want_result);
    done[at] = true;
  }
  if (!own.empty()) renew_own(connection, request, own, patience, done);
  request.answered(done);
}

// This call has made them before, when its answer was lost. One that has been taken over since
// stays open: the next look answers for it.
void LeaseClaims::renew_own(Connection& connection, Request& request, std::span<const Acquired> own,
                            milliseconds patience, std::vector<bool>& done) {
  std::vector<Lease> leases;
  leases.reserve(own.size());
  for (const Acquired& one : own) leases.push_back(one.lease);
  set_patience(connection, patience);
  const auto held = held_by(connection, records_.renew, leases, request.options.lease.count());
  const auto renewed = sql::applied(leases, held);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (renewed[i] != Applied::kYes) continue;
    const std::uint32_t at = request.at(own[i].lease.key);
    request.answers[at] = own[i];
    done[at] = true;
  }
}

}  // namespace semel::postgres
