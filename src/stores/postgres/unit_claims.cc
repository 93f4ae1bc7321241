#include "stores/postgres/unit_claims.h"

#include <algorithm>
#include <utility>

namespace semel::postgres {

struct UnitClaims::Request {
  std::span<const Message* const> messages;
  const UnitOptions& options;
  std::vector<std::uint32_t> order;  // of their ids
  std::vector<std::int64_t> inbox;   // by place in `order`
  std::vector<std::uint32_t> met;    // those with a record, in the order of their ids
  std::vector<Claim> answers;
  std::vector<std::optional<sql::Claimed>> claimed_at;

  const Message& message(std::uint32_t at) const { return *messages[at]; }
  std::uint32_t at(const KeyId& id) const {
    return *std::ranges::lower_bound(
        order, id, {}, [&](std::uint32_t i) -> const KeyId& { return messages[i]->key().id; });
  }
  sql::Claimed& remember(std::uint32_t at) {
    sql::Claimed& claimed = claimed_at[at].emplace();
    claimed.id = message(at).key().id;
    claimed.fingerprint = message(at).fingerprint();
    claimed.key = message(at).key().text;
    return claimed;
  }
};

std::vector<Claim> UnitClaims::claim(Connection& connection, const Generations::Active& active,
                                     std::span<const Message* const> messages,
                                     const UnitOptions& options) {
  claimed_.clear();
  return claim_some(connection, active, messages, options);
}

std::vector<Claim> UnitClaims::claim_singly(Connection& connection,
                                            const Generations::Active& active,
                                            std::span<const Message* const> messages,
                                            const UnitOptions& options) {
  claimed_.clear();
  std::vector<Claim> answers(messages.size(), Busy{core::kShortestBusy});
  // In the order of their ids, as whoever claims many at a time.
  for (const std::uint32_t at : sql::in_order(messages)) {
    connection.pipe().send(sql::text_of(sql::Mark::kMessage), {});
    try {
      answers[at] = claim_some(connection, active, messages.subspan(at, 1), options).front();
      connection.pipe().send(sql::text_of(sql::Mark::kReleaseMessage), {});
    } catch (const sql::Failure& failed) {
      if (failed.error().kind != ErrorKind::kBlocked) throw;
      connection.pipe().send(sql::text_of(sql::Mark::kBackToMessage), {});
    }
  }
  return answers;
}

std::vector<Claim> UnitClaims::claim_some(Connection& connection, const Generations::Active& active,
                                          std::span<const Message* const> messages,
                                          const UnitOptions& options) {
  Request request{messages, options, sql::in_order(messages), {}, {}, {}, {}};
  request.answers.assign(messages.size(), Busy{core::kShortestBusy});
  request.claimed_at.resize(messages.size());
  if (options.inbox) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      request.inbox.push_back(connection.next_number(sql::Counter::kInbox));
    }
  }
  insert(connection, active, request);
  if (!request.met.empty()) look(connection, request);
  for (auto& one : request.claimed_at) {
    if (one) claimed_.add(*std::move(one));
  }
  return std::move(request.answers);
}

void UnitClaims::begin_again() {
  generations_.forget();
  sql::fail({ErrorKind::kRetryTransaction, "R200", "a new generation of records was begun", {}}, 1);
}

void UnitClaims::insert(Connection& connection, const Generations::Active& active,
                        Request& request) {
  ArrayParam ids(oid::kBytea), prints(oid::kBytea), inbox(oid::kInt8);
  for (std::size_t place = 0; place < request.order.size(); ++place) {
    const Message& message = request.message(request.order[place]);
    ids.add(message.key().id.view());
    prints.add(message.fingerprint().view());
    if (request.inbox.empty()) {
      inbox.add_null();
    } else {
      inbox.add(request.inbox[place]);
    }
  }
  WireParams inserting, looking;
  inserting.add(ids);
  inserting.add(prints);
  inserting.add(inbox);
  looking.add(ids);
  connection.queue(active.texts->insert_completed, inserting);
  if (!active.alone) connection.queue_planned(active.texts->others, looking);
  connection.queue(connection.borrowed() ? generations_.version_now() : generations_.version(), {});
  std::vector<ResultPtr> results;
  try {
    results = connection.run();
  } catch (const sql::Failure& failed) {
    if (!Generations::moved(failed)) throw;
    begin_again();
  }
  const std::size_t first = results.size() - (active.alone ? 2 : 3);
  sql::Answer version = answer_of(results.back().get());
  version.next();
  if (version.integer(0) != active.version) begin_again();
  std::vector<bool> fresh(request.messages.size());
  sql::Answer inserted = answer_of(results[first].get());
  while (inserted.next()) fresh[request.at(inserted.key_id(0))] = true;
  // What stands in an older generation was met there.
  ArrayParam too_many(oid::kBytea);
  if (!active.alone) {
    sql::Answer older = answer_of(results[first + 1].get());
    while (older.next()) {
      const std::uint32_t at = request.at(older.key_id(0));
      if (fresh[at]) too_many.add(older.key_id(0).view());
      fresh[at] = false;
    }
  }
  if (too_many.size() > 0) {
    WireParams erasing;
    erasing.add(too_many);
    connection.queue_planned(active.texts->erase, erasing);
  }
  for (std::size_t place = 0; place < request.order.size(); ++place) {
    const std::uint32_t at = request.order[place];
    if (!fresh[at]) {
      request.met.push_back(at);
      continue;
    }
    sql::Claimed& claimed = request.remember(at);
    claimed.at = version.time(1);
    if (!request.inbox.empty()) claimed.inbox = request.inbox[place];
    Acquired acquired;
    acquired.lease.key = claimed.id;
    request.answers[at] = acquired;
  }
}

void UnitClaims::look(Connection& connection, Request& request) {
  ArrayParam ids(oid::kBytea);
  for (const std::uint32_t at : request.met) ids.add(request.message(at).key().id.view());
  WireParams params;
  params.add(ids);
  const bool want_result = request.options.want_result;
  // Only what may be claimed is locked: who holds a lease must not wait for this unit.
  connection.queue_planned(records_.lock_due, params);
  connection.queue_planned(want_result ? records_.find_with_result : records_.find, params);
  const auto results = connection.run();
  std::vector<bool> done(request.messages.size());
  const auto answer = [&](Found& found, StoreTime now, bool locked) {
    const std::uint32_t at = request.at(found.id);
    if (done[at]) return;
    done[at] = true;
    const Message& message = request.message(at);
    std::optional<core::Record> record = found.row.record;
    Claim decided = core::decide_claim(record, {found.id, message.fingerprint(), {}, {}, {}}, now);
    if (std::holds_alternative<Acquired>(decided)) {
      // What became due since it was looked for is for the next claim.
      if (!locked) return;
      found.row.record = *std::move(record);
      found.row.holder.reset();
      sql::Claimed& claimed = request.remember(at);
      claimed.at = now;
      claimed.inbox = found.row.inbox;
      claimed.live = std::move(found.row);
    } else if (auto* const completed = std::get_if<Completed>(&decided);
               completed && !want_result) {
      completed->result.clear();
    }
    request.answers[at] = std::move(decided);
  };
  FoundRows due = found_in(results[results.size() - 2].get());
  for (Found& found : due.rows) answer(found, due.now, true);
  FoundRows all = found_in(results.back().get());
  for (Found& found : all.rows) answer(found, all.now, false);
}

}  // namespace semel::postgres
