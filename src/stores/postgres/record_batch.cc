#include "stores/postgres/record_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace semel::postgres {
namespace {

// The rules of spi::decide_claim, as SQL. Where states are tested together with ids, a CASE hides
// them from the planner: it would otherwise take the index of open records for small, and read it
// whole for each id.
constexpr std::string_view kDue =
    "CASE r.state WHEN 'consuming' THEN r.lease_until <= {0} "
    "WHEN 'retrying' THEN r.next_at <= {0} END";
constexpr std::string_view kConsuming = "CASE r.state WHEN 'consuming' THEN TRUE END";

// A record loses these when it is completed.
constexpr std::string_view kForgotten =
    "token = NULL, nonce = NULL, lease_until = NULL, attempt = NULL, outcome_unknown = NULL, "
    "next_at = NULL, first_seen = NULL, holder = NULL, message_key = NULL, reason = NULL, "
    "error = NULL";

std::string columns() { return sql::record_columns("r."); }

}  // namespace

std::string due(const std::string& clock) { return fmt::format(fmt::runtime(kDue), clock); }
std::string_view consuming() noexcept { return kConsuming; }

BatchTexts::BatchTexts(const Dialect& dialect, const std::string& clock)
    : find(dialect, fmt::format("SELECT {}, {} FROM semel_record AS r "
                                "WHERE r.id = ANY(?1)",
                                columns(), clock)),
      // If there is an inbox row, the result is in it.
      find_with_result(dialect, fmt::format("SELECT {}, {}, i.result FROM semel_record AS r "
                                            "LEFT JOIN semel_inbox AS i ON i.row_id = r.inbox "
                                            "WHERE r.id = ANY(?1)",
                                            columns(), clock)),
      lock_due(dialect, fmt::format("SELECT {}, {} FROM semel_record AS r "
                                    "WHERE r.id = ANY(?1) AND {} ORDER BY r.id FOR UPDATE",
                                    columns(), clock, due(clock))),
      // The inner query locks in the order of the keys; an UPDATE by itself would not.
      take_over(
          dialect,
          fmt::format(
              "WITH due AS (SELECT r.id, r.generation, r.state = 'consuming' AS lease_ended "
              "FROM semel_record AS r "
              "JOIN unnest(?1, ?2, ?3) AS w(id, fingerprint, nonce) ON w.id = r.id "
              "WHERE {0} AND r.nonce IS DISTINCT FROM w.nonce AND (w.fingerprint = r.fingerprint "
              "OR "
              "w.fingerprint = '\\x00000000000000000000000000000000') ORDER BY r.id FOR UPDATE OF "
              "r), "
              "wanted AS (SELECT u.id, u.nonce, d.generation, d.lease_ended "
              "FROM unnest(?1, ?3) AS u(id, nonce) JOIN due AS d ON d.id = u.id) "
              "UPDATE semel_record AS r SET state = 'consuming', nonce = wanted.nonce, "
              // The epoch is that of the statement's snapshot, which may be older than the row.
              "token = GREATEST((SELECT epoch FROM semel_meta) * 4294967296 + "
              "nextval('{2}semel_token'), r.token + 1), "
              "lease_until = {1} + ?4 * interval '1 millisecond', attempt = r.attempt + 1, "
              "outcome_unknown = r.outcome_unknown OR r.state = 'consuming', next_at = NULL, "
              "changed_at = {1}, holder = ?5 "
              "FROM wanted WHERE r.id = wanted.id AND r.generation = wanted.generation "
              "RETURNING {3}, {1}, wanted.lease_ended",
              due(clock), clock, dialect.prefix(), columns())),
      renew(dialect, fmt::format("UPDATE semel_record AS r SET lease_until = {} + ?3 * interval '1 "
                                 "millisecond' FROM unnest(?1, ?2) AS w(id, nonce) "
                                 "WHERE r.id = w.id AND r.nonce = w.nonce AND {} "
                                 "RETURNING r.id, r.nonce",
                                 clock, kConsuming)),
      confirm(dialect, fmt::format("SELECT r.id, r.nonce FROM semel_record AS r "
                                   "JOIN unnest(?1, ?2) AS w(id, nonce) ON r.id = w.id AND r.nonce "
                                   "= w.nonce WHERE {} ORDER BY r.id FOR UPDATE OF r",
                                   kConsuming)),
      lock(dialect,
           "SELECT r.id FROM semel_record AS r WHERE r.id = ANY(?1) ORDER BY r.id FOR UPDATE"),
      complete(dialect,
               fmt::format("UPDATE semel_record AS r SET state = 'completed', changed_at = {}, "
                           "result = w.result, {} "
                           "FROM unnest(?1, ?2, ?3) AS w(id, nonce, result) "
                           "WHERE r.id = w.id AND r.nonce = w.nonce AND {} "
                           "AND r.held IS NULL AND r.inbox IS NULL RETURNING r.id",
                           clock, kForgotten, kConsuming)),
      // Without a join it has one plan, which may be kept: the sessions of a store scan no whole
      // tables, and without a bitmap the rows of a generation are locked in the order of their ids.
      // Over several generations a transaction locks in another order: the server then undoes one
      // of the two, and the store repeats it in a transaction.
      complete_alone(
          dialect, fmt::format("UPDATE semel_record AS r SET state = 'completed', changed_at = {}, "
                               "result = NULL, {} "
                               "WHERE r.id = ANY(?1) AND r.id || r.nonce = ANY(?2) AND {} "
                               "AND r.held IS NULL AND r.inbox IS NULL RETURNING r.id",
                               clock, kForgotten, kConsuming)),
      by_id("SELECT set_config('enable_bitmapscan', 'off', true)"),
      set_results(dialect,
                  "UPDATE semel_record AS r SET result = w.result "
                  "FROM unnest(?1, ?2) AS w(id, result) WHERE r.id = w.id"),
      keep(
          dialect,
          fmt::format("INSERT INTO semel_inbox (row_id, consumer, message_key, type, "
                      "content_type, received_at, processed_at, result, payload) "
                      "SELECT number, consumer, message_key, type, content_type, {0}, {0}, result, "
                      "payload FROM unnest(?1, ?2, ?3, ?4, ?5, ?6, ?7) AS w(number, consumer, "
                      "message_key, type, content_type, result, payload)",
                      clock)) {}

FoundRows found_in(const PGresult* result) {
  FoundRows found;
  sql::Answer answer = answer_of(result);
  while (answer.next()) {
    found.rows.push_back({answer.key_id(0), sql::record_at(answer), false});
    found.now = answer.time(sql::kRecordColumns);
    const bool with_inbox = answer.columns() > sql::kRecordColumns + 1;
    if (with_inbox && !answer.null(sql::kRecordColumns + 1)) {
      found.rows.back().row.record.result = answer.bytes(sql::kRecordColumns + 1);
    }
  }
  return found;
}

FoundRows taken_in(const PGresult* result) {
  FoundRows found;
  sql::Answer answer = answer_of(result);
  while (answer.next()) {
    const bool lease_ended = answer.boolean(sql::kRecordColumns + 1);
    found.rows.push_back({answer.key_id(0), sql::record_at(answer), lease_ended});
    found.now = answer.time(sql::kRecordColumns);
  }
  return found;
}

namespace {

std::vector<sql::Holding> held_now(Connection& connection, const sql::SqlText& text,
                                   std::span<const Lease> leases,
                                   std::optional<std::int64_t> more) {
  ArrayParam ids(oid::kBytea), nonces(oid::kBytea);
  for (const Lease& lease : leases) {
    ids.add(lease.key.view());
    nonces.add(sql::Param(lease.nonce).bytes());
  }
  WireParams params;
  params.add(ids);
  params.add(nonces);
  if (more) params.add_integer(*more);
  sql::Answer answer = connection.ask_planned(text, params);
  std::vector<sql::Holding> held;
  while (answer.next()) held.push_back({answer.key_id(0), answer.nonce(1)});
  std::ranges::sort(held);
  return held;
}

}  // namespace

std::vector<sql::Holding> held_by(Connection& connection, const sql::SqlText& text,
                                  std::span<const Lease> leases, std::optional<std::int64_t> more) {
  std::vector<sql::Holding> held = held_now(connection, text, leases, more);
  if (held.size() >= leases.size()) return held;
  // A purge may have moved some to another generation while the statement waited for them: then it
  // finds them in neither.
  std::vector<Lease> missing;
  std::ranges::copy_if(leases, std::back_inserter(missing), [&](const Lease& lease) {
    return !std::ranges::binary_search(held, sql::Holding{lease.key, lease.nonce});
  });
  std::ranges::copy(held_now(connection, text, missing, more), std::back_inserter(held));
  std::ranges::sort(held);
  return held;
}

void ManyRecords::lock(std::span<const KeyId> records) {
  ArrayParam ids(oid::kBytea);
  for (const KeyId& id : records) ids.add(id.view());
  WireParams params;
  params.add(ids);
  connection_.queue_planned(texts_.lock, params);
}

std::vector<KeyId> ManyRecords::complete(std::span<const Finish* const> finishes) {
  std::vector<const Finish*> sorted(finishes.begin(), finishes.end());
  std::ranges::sort(sorted, {}, [](const Finish* finish) { return finish->lease->key; });
  ArrayParam ids(oid::kBytea), nonces(oid::kBytea), results(oid::kBytea);
  for (const Finish* const finish : sorted) {
    ids.add(finish->lease->key.view());
    nonces.add(sql::Param(finish->lease->nonce).bytes());
    if (finish->result.empty()) {
      results.add_null();
    } else {
      results.add(finish->result);
    }
  }
  WireParams params;
  params.add(ids);
  params.add(nonces);
  params.add(results);
  sql::Answer answer = connection_.ask_planned(texts_.complete, params);
  std::vector<KeyId> done;
  while (answer.next()) done.push_back(answer.key_id(0));
  return done;
}

bool ManyRecords::has_at_once(std::span<const Finish> finishes) const noexcept {
  return !connection_.borrowed() &&
         std::ranges::all_of(finishes, [](const Finish& finish) { return finish.result.empty(); });
}

std::vector<KeyId> ManyRecords::complete_at_once(std::span<const Finish> finishes) {
  std::vector<const Finish*> sorted;
  for (const Finish& finish : finishes) sorted.push_back(&finish);
  const auto key = [](const Finish* finish) { return finish->lease->key; };
  std::ranges::sort(sorted, {}, key);
  // The answer does not say which of two leases on a key held it.
  if (std::ranges::adjacent_find(sorted, {}, key) != sorted.end()) return {};
  ArrayParam ids(oid::kBytea), leases(oid::kBytea);
  std::string lease;
  for (const Finish* const finish : sorted) {
    const BytesView id = finish->lease->key.view();
    const BytesView nonce = sql::Param(finish->lease->nonce).bytes();
    lease.assign(id.data(), id.size()).append(nonce.data(), nonce.size());
    ids.add(id);
    leases.add(lease);
  }
  WireParams params;
  params.add(ids);
  params.add(leases);
  connection_.pipe().send(texts_.by_id, {});
  connection_.queue(texts_.complete_alone, params);
  std::vector<ResultPtr> results;
  try {
    results = connection_.run();
  } catch (const sql::Failure& failed) {
    // The server undid it.
    if (failed.error().kind != ErrorKind::kRetryTransaction) throw;
    return {};
  }
  sql::Answer answer = answer_of(results.back().get());
  std::vector<KeyId> done;
  while (answer.next()) done.push_back(answer.key_id(0));
  return done;
}

void ManyRecords::set_results(std::span<const WithResult> records) {
  ArrayParam ids(oid::kBytea), results(oid::kBytea);
  for (const WithResult& one : records) {
    ids.add(one.id.view());
    results.add(one.result);
  }
  WireParams params;
  params.add(ids);
  params.add(results);
  connection_.queue_planned(texts_.set_results, params);
}

void ManyRecords::keep(std::span<const Kept> messages) {
  ArrayParam rows(oid::kInt8), consumers(oid::kInt8), keys(oid::kBytea), types(oid::kBytea),
      content_types(oid::kBytea), results(oid::kBytea), payloads(oid::kBytea);
  for (const Kept& one : messages) {
    rows.add(one.row);
    consumers.add(static_cast<std::int64_t>(one.message->key().id.consumer()));
    keys.add(one.message->key().text);
    types.add(one.message->type());
    content_types.add(one.message->content_type());
    one.result.empty() ? results.add_null() : results.add(one.result);
    payloads.add(one.message->payload());
  }
  WireParams params;
  for (ArrayParam* const array :
       {&rows, &consumers, &keys, &types, &content_types, &results, &payloads}) {
    params.add(*array);
  }
  connection_.queue(texts_.keep, params);
}

}  // namespace semel::postgres
