#include "stores/postgres/unit_claims.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace semel::postgres {
namespace {

// Without a copy of its bytes: a batch has hundreds.
KeyId key_id_at(const PGresult* result, int row, int column) {
  KeyId id;
  if (PQgetlength(result, row, column) == static_cast<int>(id.bytes.size())) {
    std::memcpy(id.bytes.data(), PQgetvalue(result, row, column), id.bytes.size());
  }
  return id;
}

bool says_yes(const PGresult* result) {
  sql::Answer answer = answer_of(result);
  return answer.next() && answer.boolean(0);
}

}  // namespace

struct UnitClaims::Request {
  Request(std::span<const Message* const> all, const UnitOptions& wanted)
      : messages(all),
        options(wanted),
        order(sql::in_order(all)),
        fresh(all.size()),
        answers(all.size(), Busy{spi::kShortestBusy}) {}

  std::span<const Message* const> messages;
  const UnitOptions& options;
  std::vector<std::uint32_t> order;  // by their ids
  std::vector<bool> fresh;
  std::vector<std::optional<std::int64_t>> inbox;  // of the fresh ones; empty: they have none
  std::vector<std::uint32_t> met;                  // those with a record, in the order of their ids
  std::map<std::uint32_t, sql::Claimed> taken;     // of those the ones that were due
  std::vector<Claim> answers;

  const Message& message(std::uint32_t at) const { return *messages[at]; }
  const KeyId& id(std::uint32_t at) const { return messages[at]->key().id; }
  std::uint32_t at(const KeyId& wanted) const {
    return *std::ranges::lower_bound(order, wanted, {}, [&](std::uint32_t i) { return id(i); });
  }
  sql::Claimed claimed(std::uint32_t at) const {
    sql::Claimed claimed;
    claimed.id = id(at);
    claimed.fingerprint = message(at).fingerprint();
    claimed.key = message(at).key().text;
    return claimed;
  }
  // The server returns inserted rows in any order.
  void note_inserted(const PGresult* result) {
    if (options.inbox) inbox.resize(messages.size());
    for (int row = 0; row < PQntuples(result); ++row) {
      const KeyId found = key_id_at(result, row, 0);
      const auto turn = static_cast<std::size_t>(row);
      const bool in_turn = turn < order.size() && id(order[turn]) == found;
      const std::uint32_t one = in_turn ? order[turn] : at(found);
      fresh[one] = true;
      if (options.inbox) inbox[one] = cell_of(result, row, 1).number;
    }
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
  std::vector<Claim> answers(messages.size(), Busy{spi::kShortestBusy});
  // In the order of their ids, as in every claim of many.
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
  Request request(messages, options);
  insert(connection, active, request);
  if (!request.met.empty()) look(connection, request);
  claimed_.reserve(messages.size());
  for (std::uint32_t at = 0; at < messages.size(); ++at) {
    if (request.fresh[at]) {
      sql::Claimed& claimed = claimed_.add(request.claimed(at));
      if (options.inbox) claimed.inbox = request.inbox[at];
    } else if (const auto taken = request.taken.find(at); taken != request.taken.end()) {
      claimed_.add(std::move(taken->second));
    }
  }
  return std::move(request.answers);
}

void UnitClaims::begin_again() {
  generations_.forget();
  sql::fail({ErrorKind::kRetryTransaction, "R200", "a new generation of records was begun", {}}, 1);
}

// The owner of a borrowed connection may have undone what was seen in its transaction, unnoticed:
// then the version may mean something else. It may also read an older state of the database.
void UnitClaims::queue_check(Connection& connection, const Generations::Active& active,
                             const Request& request) const {
  if (!active.committed) {
    connection.queue(generations_.still_active(), {active.version, active.alone, active.number,
                                                   request.message(0).key().id.consumer()});
  }
  connection.queue(generations_.version_now(), {});
}

void UnitClaims::queue_insert(Connection& connection, const Generations::Active& active,
                              const Request& request, ArrayParam& ids) {
  WireParams params;
  if (request.order.size() == 1) {
    const Message& message = request.message(0);
    params.add_bytes(message.key().id.view());
    params.add_bytes(message.fingerprint().view());
    params.add_integer(active.version);
    params.add(request.options.inbox);
    return connection.queue(active.texts->insert_one, params);
  }
  ArrayParam prints(oid::kBytea);
  for (const std::uint32_t at : request.order) {
    prints.add(request.message(at).fingerprint().view());
  }
  params.add(ids);
  params.add(prints);
  params.add_integer(active.version);
  connection.queue(
      request.options.inbox ? active.texts->insert_received : active.texts->insert_completed,
      params);
}

void UnitClaims::insert(Connection& connection, const Generations::Active& active,
                        Request& request) {
  ArrayParam ids(oid::kBytea);
  for (const std::uint32_t at : request.order) ids.add(request.message(at).key().id.view());
  const bool checks = connection.borrowed();
  if (checks) queue_check(connection, active, request);
  queue_insert(connection, active, request, ids);
  if (!active.alone) {
    WireParams looking;
    looking.add(ids);
    connection.queue_planned(active.texts->others, looking);
  }
  std::vector<ResultPtr> results;
  try {
    results = connection.run();
  } catch (const sql::Failure& failed) {
    if (!Generations::moved(failed)) throw;
    begin_again();
  }
  const std::size_t first = results.size() - (active.alone ? 1 : 2);
  if (checks) {
    sql::Answer version = answer_of(results[first - 1].get());
    const bool newer = version.next() && version.integer(0) != active.version;
    const bool gone = !active.committed && !says_yes(results[first - 2].get());
    if (newer || gone) begin_again();
  }
  request.note_inserted(results[first].get());
  if (!active.alone) meet_older(connection, active, results[first + 1].get(), request);
  for (const std::uint32_t at : request.order) {
    if (!request.fresh[at]) {
      request.met.push_back(at);
      continue;
    }
    Acquired acquired;
    acquired.lease.key = request.id(at);
    request.answers[at] = acquired;
  }
}

// Handles keys that were found in an older generation.
void UnitClaims::meet_older(Connection& connection, const Generations::Active& active,
                            const PGresult* result, Request& request) {
  ArrayParam too_many(oid::kBytea);
  sql::Answer older = answer_of(result);
  while (older.next()) {
    const std::uint32_t at = request.at(older.key_id(0));
    if (request.fresh[at]) too_many.add(older.key_id(0).view());
    request.fresh[at] = false;
  }
  if (too_many.size() == 0) return;
  WireParams erasing;
  erasing.add(too_many);
  connection.queue_planned(active.texts->erase, erasing);
}

void UnitClaims::look(Connection& connection, Request& request) {
  ArrayParam ids(oid::kBytea);
  for (const std::uint32_t at : request.met) ids.add(request.message(at).key().id.view());
  WireParams params;
  params.add(ids);
  const bool want_result = request.options.want_result;
  // Only records that may be claimed are locked: a lease holder must not wait for this unit.
  connection.queue_planned(records_.lock_due, params);
  connection.queue_planned(want_result ? records_.find_with_result : records_.find, params);
  const auto results = connection.run();
  std::vector<bool> done(request.messages.size());
  const auto answer = [&](Found& found, StoreTime now, bool locked) {
    const std::uint32_t at = request.at(found.id);
    if (done[at]) return;
    done[at] = true;
    const Message& message = request.message(at);
    std::optional<spi::Record> record = found.row.record;
    Claim decided = spi::decide_claim(record, {found.id, message.fingerprint(), {}, {}, {}}, now);
    if (std::holds_alternative<Acquired>(decided)) {
      // A record that became due since the query is left to the next claim.
      if (!locked) return;
      found.row.record = *std::move(record);
      found.row.holder.reset();
      sql::Claimed& claimed = request.taken.emplace(at, request.claimed(at)).first->second;
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
