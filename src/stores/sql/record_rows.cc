#include "stores/sql/record_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "core/key_encoding.h"
#include "stores/sql/many.h"

namespace semel::sql {
namespace {

constexpr std::array<std::string_view, kRecordColumns> kOfRecords = {
    "id",          "state",      "fingerprint",     "token",       "nonce",
    "lease_until", "attempt",    "outcome_unknown", "next_at",     "first_seen",
    "holder",      "held",       "inbox",           "message_key", "reason",
    "error",       "changed_at", "generation",      "result"};

std::string select_where(std::string_view condition, std::string_view from = "semel_record") {
  return fmt::format("SELECT {} FROM {} WHERE {}", record_columns(), from, condition);
}

RecordState state_of(BytesView word) {
  for (const RecordState state : {RecordState::kConsuming, RecordState::kCompleted,
                                  RecordState::kRetrying, RecordState::kParked}) {
    if (word == to_string(state)) return state;
  }
  return RecordState::kDead;
}

Word word_of(RecordState state) { return Word{to_string(state)}; }

// NULL reads as zero, and zero is written as NULL, so that people see what is absent.
std::optional<StoreTime> unless_zero(StoreTime time) {
  return time == StoreTime{} ? std::nullopt : std::optional(time);
}

template <class T>
std::optional<T> where(bool there, const T& value) {
  return there ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string record_columns(std::string_view prefix) {
  std::string columns;
  for (const std::string_view column : kOfRecords) {
    if (!columns.empty()) columns += ", ";
    columns += prefix;
    columns += column;
  }
  return columns;
}

RecordRow record_at(const Answer& answer) {
  RecordRow row;
  spi::Record& record = row.record;
  record.state = state_of(answer.bytes(1));
  record.fingerprint = answer.fingerprint(2);
  record.token = static_cast<Token>(answer.integer(3));
  record.nonce = answer.nonce(4);
  record.lease_until = answer.time(5);
  record.attempt = answer.small(6);
  record.outcome_unknown = answer.boolean(7);
  record.next_at = answer.time(8);
  record.first_seen = answer.time(9);
  row.holder = answer.maybe_integer(10);
  row.held = answer.maybe_integer(11);
  record.held = row.held.has_value();
  row.inbox = answer.maybe_integer(12);
  row.key = answer.bytes(13);
  record.reason = answer.bytes(14);
  record.error = answer.bytes(15);
  if (record.state == RecordState::kCompleted) record.completed_at = answer.time(16);
  row.generation = answer.integer(17);
  record.result = answer.bytes(18);
  return row;
}

std::int64_t limit_of(std::size_t count) noexcept {
  return static_cast<std::int64_t>(
      std::min<std::size_t>(count, std::numeric_limits<std::int64_t>::max()));
}

RecordTexts::RecordTexts(const Dialect& dialect)
    : find(dialect, select_where("id = ?1")),
      find_locked(dialect, select_where("id = ?1 FOR UPDATE")),
      completed(dialect, "SELECT id FROM semel_record WHERE id IN " + sql::list() +
                             " AND state = 'completed'"),
      save(dialect,
           "UPDATE semel_record SET state = CAST(?2 AS semel_state), fingerprint = ?3, token = ?4, "
           "nonce = ?5, lease_until = ?6, attempt = ?7, outcome_unknown = ?8, next_at = ?9, "
           "first_seen = ?10, changed_at = ?11, holder = ?12, held = ?13, inbox = ?14, "
           "message_key = ?15, reason = ?16, error = ?17, result = ?18 WHERE id = ?1"),
      set_inbox(dialect, "UPDATE semel_record SET inbox = ?2 WHERE id = ?1"),
      erase(dialect, "DELETE FROM semel_record WHERE id = ?1"),
      // Locked in the order in which claims and finishes lock them.
      holders(dialect, fmt::format("SELECT id FROM {} WHERE holder = ?1 AND state = 'consuming' "
                                   "AND lease_until > ?2 ORDER BY id",
                                   dialect.open_records())),
      end(dialect,
          "UPDATE semel_record SET lease_until = ?3, holder = NULL WHERE id = ?1 AND holder = ?2 "
          "AND state = 'consuming' AND lease_until > ?3"),
      dead(
          dialect,
          fmt::format("SELECT r.id, r.message_key, r.fingerprint, (SELECT count(*) FROM semel_step "
                      "AS s WHERE s.record = r.id) FROM {} AS r WHERE r.state = 'dead' AND r.id "
                      "BETWEEN ?1 AND ?2 AND r.changed_at < ?3 AND r.id > ?5 ORDER BY r.id "
                      "LIMIT ?4",
                      dialect.open_records())),
      list(dialect, select_where("state <> 'completed' AND id BETWEEN ?1 AND ?2 "
                                 "ORDER BY first_seen, id LIMIT ?3",
                                 dialect.open_records())),
      list_state(dialect, select_where("state <> 'completed' AND state = CAST(?4 AS semel_state) "
                                       "AND id BETWEEN ?1 AND ?2 ORDER BY first_seen, id LIMIT ?3",
                                       dialect.open_records())),
      counts(
          dialect,
          fmt::format("SELECT substr(id, 1, 4), state, count(*), min(first_seen), max(changed_at), "
                      "count(CASE WHEN state = 'consuming' AND lease_until <= ?1 THEN 1 END) "
                      "FROM {} WHERE state <> 'completed' GROUP BY substr(id, 1, 4), state",
                      dialect.open_records())) {
  if (!dialect.list_open().empty()) list_open.emplace(dialect, dialect.list_open());
  if (!dialect.unlist_open().empty()) unlist_open.emplace(dialect, dialect.unlist_open());
}

std::optional<RecordRow> RecordRows::find(const KeyId& id, Lock lock) {
  const bool locks = lock == Lock::kForUpdate;
  const SqlText& text = locks ? texts_.find_locked : texts_.find;
  Answer answer = session_.ask(text, {id});
  if (answer.next()) return record_at(answer);
  if (!locks) return std::nullopt;
  // While the query waited for it, a purge may have moved it to another generation: such a query
  // finds neither row.
  answer = session_.ask(text, {id});
  if (!answer.next()) return std::nullopt;
  return record_at(answer);
}

std::unordered_set<KeyId> RecordRows::completed(std::span<const KeyId> ids) {
  std::unordered_set<KeyId> completed;
  in_parts(ids, [&](std::span<const KeyId> part) {
    Answer answer = ask_many(session_, texts_.completed, part);
    while (answer.next()) completed.insert(answer.key_id(0));
  });
  return completed;
}

void RecordRows::save(const KeyId& id, const RecordRow& row, StoreTime now) {
  const spi::Record& record = row.record;
  const bool open = record.state != RecordState::kCompleted;
  const bool leased = record.state == RecordState::kConsuming;
  session_.queue(
      texts_.save,
      {id, word_of(record.state), record.fingerprint,
       where(open, static_cast<std::int64_t>(record.token)), where(leased, record.nonce),
       open ? unless_zero(record.lease_until) : std::nullopt, where(open, record.attempt),
       where(open, record.outcome_unknown), open ? unless_zero(record.next_at) : std::nullopt,
       where(open, record.first_seen), open ? now : record.completed_at, row.holder, row.held,
       row.inbox, where(open, BytesView(row.key)), where(open, BytesView(record.reason)),
       where(open, BytesView(record.error)),
       where(!record.result.empty(), BytesView(record.result))});
  queue_listing(id, open);
}

void RecordRows::queue_listing(const KeyId& id, bool open) {
  const std::optional<SqlText>& text = open ? texts_.list_open : texts_.unlist_open;
  if (text) session_.queue(*text, {id});
}

void RecordRows::set_inbox(const KeyId& id, std::optional<std::int64_t> inbox) {
  session_.queue(texts_.set_inbox, {id, inbox});
}

bool RecordRows::erase(const KeyId& id) {
  const bool there = session_.ask(texts_.erase, {id}).changed() > 0;
  queue_listing(id, false);
  return there;
}

std::size_t RecordRows::end_leases(std::int64_t holder, StoreTime now) {
  // One by one, in the order in which claims and finishes lock them: a server that locks whatever
  // it reads would wait for rows that others are changing.
  std::vector<KeyId> ids;
  Answer answer = session_.ask(texts_.holders, {holder, now});
  while (answer.next()) ids.push_back(answer.key_id(0));
  for (const KeyId& id : ids) session_.queue(texts_.end, {id, holder, now});
  return ids.size();
}

std::vector<DeadRecord> RecordRows::dead_before(ConsumerNumber consumer, StoreTime before,
                                                const KeyId& behind, std::size_t limit) {
  const auto [first, last] = core::ids_of(consumer);
  std::vector<DeadRecord> dead;
  Answer answer = session_.ask(texts_.dead, {first, last, before, limit_of(limit), behind});
  while (answer.next()) {
    dead.push_back(
        {answer.key_id(0), answer.bytes(1), answer.fingerprint(2), answer.integer(3) > 0});
  }
  return dead;
}

std::vector<std::pair<KeyId, RecordRow>> RecordRows::list(std::optional<ConsumerNumber> consumer,
                                                          std::optional<RecordState> state,
                                                          std::size_t limit) {
  std::pair<KeyId, KeyId> ids;
  ids.second.bytes.fill(0xff);
  if (consumer) ids = core::ids_of(*consumer);
  Answer answer = state ? session_.ask(texts_.list_state,
                                       {ids.first, ids.second, limit_of(limit), word_of(*state)})
                        : session_.ask(texts_.list, {ids.first, ids.second, limit_of(limit)});
  std::vector<std::pair<KeyId, RecordRow>> rows;
  while (answer.next()) rows.emplace_back(answer.key_id(0), record_at(answer));
  return rows;
}

std::vector<RecordCount> RecordRows::counts(StoreTime now) {
  std::vector<RecordCount> counts;
  Answer answer = session_.ask(texts_.counts, {now});
  while (answer.next()) {
    KeyId head;
    answer.bytes(0).copy(reinterpret_cast<char*>(head.bytes.data()), head.bytes.size());
    counts.push_back({head.consumer(), state_of(answer.bytes(1)),
                      static_cast<std::size_t>(answer.integer(2)), answer.maybe_time(3),
                      answer.maybe_time(4), static_cast<std::size_t>(answer.integer(5))});
  }
  return counts;
}

}  // namespace semel::sql
