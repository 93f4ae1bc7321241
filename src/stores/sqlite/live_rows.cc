#include "stores/sqlite/live_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/key_encoding.h"
#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

RecordState state_of(BytesView word) {
  for (const RecordState state :
       {RecordState::kConsuming, RecordState::kRetrying, RecordState::kParked}) {
    if (word == to_string(state)) return state;
  }
  return RecordState::kDead;
}

LiveRow live_row_at(const Prepared& at) {
  LiveRow row;
  row.record.state = state_of(at.bytes(0));
  row.record.fingerprint = at.fingerprint(1);
  row.record.token = static_cast<Token>(at.integer(2));
  row.record.nonce = at.nonce(3);
  row.record.lease_until = at.time(4);
  row.record.attempt = at.small(5);
  row.record.outcome_unknown = at.integer(6) != 0;
  row.record.next_at = at.time(7);
  row.record.first_seen = at.time(8);
  row.holder = at.maybe_integer(9);
  row.held = at.maybe_integer(10);
  row.record.held = row.held.has_value();
  row.inbox = at.maybe_integer(11);
  row.key = at.text(12);
  row.record.reason = at.text(13);
  row.record.error = at.text(14);
  row.steps = at.integer(15) != 0;
  return row;
}

// The parameters that saving and adding a record share, under the same numbers.
Prepared& bind_record(Prepared& statement, const KeyId& id, const spi::Record& record,
                      StoreTime now) {
  return statement.bind(1, id)
      .bind(3, record.fingerprint)
      .bind(4, static_cast<std::int64_t>(record.token))
      .bind(5, record.nonce)
      .bind(6, record.lease_until)
      .bind(7, record.attempt)
      .bind(8, record.outcome_unknown)
      .bind(9, record.next_at)
      .bind(10, record.first_seen)
      .bind(11, now);
}

// The first parameters are those that all rows share.
constexpr int kSharedParams = 7;
constexpr int kOwnParams = 5;

std::string add_together_sql() {
  std::string sql =
      "INSERT INTO semel_live (id, fingerprint, token, nonce, key, state, lease_until, attempt, "
      "outcome_unknown, next_at, first_seen, changed_at, holder, reason, error) VALUES ";
  for (std::size_t i = 0; i < LiveRows::kTogether; ++i) {
    const int at = kSharedParams + 1 + static_cast<int>(i) * kOwnParams;
    sql +=
        fmt::format("{}(?{}, ?{}, ?{}, ?{}, ?{}, 'consuming', ?1, ?2, ?3, ?4, ?5, ?6, ?7, '', '')",
                    i == 0 ? "" : ", ", at, at + 1, at + 2, at + 3, at + 4);
  }
  return sql + " ON CONFLICT (id) DO NOTHING";
}

}  // namespace

LiveRows::LiveRows(Connection& connection)
    : any_(connection, "SELECT 1 FROM semel_live LIMIT 1"),
      find_(connection,
            "SELECT state, fingerprint, token, nonce, lease_until, attempt, outcome_unknown, "
            "next_at, first_seen, holder, held, inbox, key, reason, error, "
            "steps FROM semel_live WHERE id = ?1"),
      save_(connection,
            "INSERT OR REPLACE INTO semel_live (id, state, fingerprint, token, nonce, lease_until, "
            "attempt, outcome_unknown, next_at, first_seen, changed_at, holder, held, inbox, key, "
            "reason, error, steps) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
            "?18)"),
      add_claimed_(
          connection,
          "INSERT INTO semel_live (id, state, fingerprint, token, nonce, lease_until, "
          "attempt, outcome_unknown, next_at, first_seen, changed_at, holder, key, reason, "
          "error) "
          "VALUES (?1, 'consuming', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?15, '', '') "
          "ON CONFLICT (id) DO NOTHING"),
      add_together_sql_(add_together_sql()),
      add_together_(connection, add_together_sql_.c_str()),
      erase_(connection, "DELETE FROM semel_live WHERE id = ?1"),
      renew_(connection,
             "UPDATE semel_live SET lease_until = ?3 "
             "WHERE id = ?1 AND nonce = ?2 AND state = 'consuming'"),
      held_by_(connection,
               "SELECT 1 FROM semel_live WHERE id = ?1 AND nonce = ?2 AND state = 'consuming'"),
      note_steps_(connection, "UPDATE semel_live SET steps = 1 WHERE id = ?1"),
      end_(connection,
           "UPDATE semel_live SET lease_until = ?2, holder = NULL "
           "WHERE holder = ?1 AND state = 'consuming' AND lease_until > ?2"),
      dead_(connection,
            "SELECT id, key, fingerprint, steps FROM semel_live WHERE id BETWEEN ?1 AND ?2 AND "
            "state = 'dead' AND changed_at < ?3 AND id > ?5 ORDER BY id LIMIT ?4"),
      list_(
          connection,
          "SELECT state, fingerprint, token, nonce, lease_until, attempt, outcome_unknown, "
          "next_at, first_seen, holder, held, inbox, key, reason, error, steps, id FROM semel_live "
          "WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR state = ?3) "
          "ORDER BY first_seen, id LIMIT ?4"),
      counts_(connection,
              "SELECT id, state, count(*), min(first_seen), max(changed_at), "
              "count(CASE WHEN state = 'consuming' AND lease_until <= ?1 THEN 1 END) "
              "FROM semel_live GROUP BY substr(id, 1, 4), state") {}

bool LiveRows::any() {
  const Reading reading(any_);
  return any_.next();
}

std::optional<LiveRow> LiveRows::find(const KeyId& id) {
  find_.bind(1, id);
  const Reading reading(find_);
  if (!find_.next()) return std::nullopt;
  return live_row_at(find_);
}

void LiveRows::save(const KeyId& id, const LiveRow& row, StoreTime now) {
  const spi::Record& record = row.record;
  bind_record(save_, id, record, now)
      .bind_text(2, to_string(record.state))
      .bind(12, row.holder)
      .bind(13, row.held)
      .bind(14, row.inbox)
      .bind_bytes(15, row.key)
      .bind_bytes(16, record.reason)
      .bind_bytes(17, record.error)
      .bind(18, row.steps)
      .run();
}

bool LiveRows::add_claimed(const KeyId& id, const spi::Record& record, BytesView key,
                           std::int64_t holder, StoreTime now) {
  bind_record(add_claimed_, id, record, now).bind(12, holder).bind_bytes(15, key);
  return add_claimed_.change() > 0;
}

bool LiveRows::add_claimed(std::span<const Claimed, kTogether> claimed, std::int64_t holder,
                           StoreTime now) {
  Prepared& all = add_together_;
  const spi::Record& first = claimed.front().record;
  all.bind(1, first.lease_until)
      .bind(2, first.attempt)
      .bind(3, first.outcome_unknown)
      .bind(4, first.next_at)
      .bind(5, first.first_seen)
      .bind(6, now)
      .bind(7, holder);
  int at = kSharedParams + 1;
  for (const Claimed& one : claimed) {
    all.bind(at, one.id)
        .bind(at + 1, one.record.fingerprint)
        .bind(at + 2, static_cast<std::int64_t>(one.record.token))
        .bind(at + 3, one.record.nonce)
        .bind_bytes(at + 4, one.key);
    at += kOwnParams;
  }
  return all.change() == static_cast<std::int64_t>(claimed.size());
}

bool LiveRows::erase(const KeyId& id) { return erase_.bind(1, id).change() > 0; }

bool LiveRows::renew(const KeyId& id, const Nonce& nonce, StoreTime until) {
  return renew_.bind(1, id).bind(2, nonce).bind(3, until).change() > 0;
}

bool LiveRows::held_by(const KeyId& id, const Nonce& nonce) {
  held_by_.bind(1, id).bind(2, nonce);
  const Reading reading(held_by_);
  return held_by_.next();
}

void LiveRows::note_steps(const KeyId& id) { note_steps_.bind(1, id).run(); }

std::int64_t LiveRows::end_leases(std::int64_t holder, StoreTime now) {
  return end_.bind(1, holder).bind(2, now).change();
}

std::vector<sql::DeadRecord> LiveRows::dead_before(ConsumerNumber consumer, StoreTime before,
                                                   const KeyId& behind, std::size_t limit) {
  const auto [first, last] = core::ids_of(consumer);
  dead_.bind(1, first).bind(2, last).bind(3, before).bind(4, static_cast<std::int64_t>(limit));
  dead_.bind(5, behind);
  std::vector<sql::DeadRecord> dead;
  const Reading reading(dead_);
  while (dead_.next()) {
    dead.push_back({dead_.key_id(0), dead_.text(1), dead_.fingerprint(2), dead_.integer(3) != 0});
  }
  return dead;
}

std::vector<std::pair<KeyId, LiveRow>> LiveRows::list(std::optional<ConsumerNumber> consumer,
                                                      std::optional<RecordState> state,
                                                      std::size_t limit) {
  std::pair<KeyId, KeyId> ids;
  ids.second.bytes.fill(0xff);
  if (consumer) ids = core::ids_of(*consumer);
  list_.bind(1, ids.first).bind(2, ids.second);
  if (state) {
    list_.bind_text(3, to_string(*state));
  } else {
    list_.bind_null(3);
  }
  list_.bind(4, static_cast<std::int64_t>(
                    std::min<std::size_t>(limit, std::numeric_limits<std::int64_t>::max())));
  std::vector<std::pair<KeyId, LiveRow>> rows;
  const Reading reading(list_);
  while (list_.next()) rows.emplace_back(list_.key_id(16), live_row_at(list_));
  return rows;
}

std::vector<sql::RecordCount> LiveRows::counts(StoreTime now) {
  std::vector<sql::RecordCount> counts;
  counts_.bind(1, now);
  const Reading reading(counts_);
  while (counts_.next()) {
    counts.push_back({counts_.key_id(0).consumer(), state_of(counts_.bytes(1)),
                      static_cast<std::size_t>(counts_.integer(2)), counts_.maybe_time(3),
                      counts_.maybe_time(4), static_cast<std::size_t>(counts_.integer(5))});
  }
  return counts;
}

}  // namespace semel::sqlite
