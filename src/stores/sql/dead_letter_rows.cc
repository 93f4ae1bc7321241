#include "stores/sql/dead_letter_rows.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "core/headers_text.h"
#include "stores/sql/many.h"
#include "stores/sql/record_rows.h"

namespace semel::sql {
namespace {

constexpr std::string_view kByKey = "semel.dead_letter.key";
constexpr std::string_view kByPosition = "semel.dead_letter.position";

constexpr std::string_view kLetterColumns =
    "id, consumer, fingerprint, record, replayed, attempts, first_seen, dead_at, message_key, "
    "reason, error, type, content_type, source_partition, source_position";

constexpr std::string_view kInsert =
    "INSERT INTO semel_dead_letter (consumer, identity, fingerprint, record, replayed, attempts, "
    "first_seen, dead_at, message_key, reason, error, type, content_type, source_partition, "
    "source_position, headers, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
    "?12, ?13, ?14, ?15, ?16, ?17) ON CONFLICT (consumer, identity, fingerprint) DO ";

std::string insert_or(std::string_view otherwise) {
  return fmt::format("{}{}", kInsert, otherwise);
}

std::string whole_where(std::string_view condition) {
  return fmt::format("SELECT {}, headers, payload FROM semel_dead_letter WHERE {}", kLetterColumns,
                     condition);
}

// Keys and positions may be long; the index holds digests of them.
digest::Short identity_of_key(BytesView key) {
  const std::array<BytesView, 1> parts = {key};
  return digest::shortened(digest::sha256_parts(kByKey, parts));
}

std::optional<digest::Short> identity_of(const HeldContent& content) {
  if (content.key) return identity_of_key(*content.key);
  if (content.position.empty()) return std::nullopt;
  const std::array<BytesView, 2> parts = {content.partition, content.position};
  return digest::shortened(digest::sha256_parts(kByPosition, parts));
}

std::optional<Binary> binary(const std::optional<digest::Short>& identity) {
  return identity ? std::optional(Binary{digest::view(*identity)}) : std::nullopt;
}

DeadLetterRow letter_at(const Answer& answer) {
  DeadLetterRow row;
  row.letter.id = answer.integer(0);
  row.consumer = answer.consumer(1);
  row.letter.fingerprint = answer.fingerprint(2);
  if (!answer.null(3)) row.record = answer.key_id(3);
  row.letter.replayed = answer.small(4);
  row.letter.attempts = answer.small(5);
  row.letter.first_seen = answer.time(6);
  row.letter.dead_at = answer.time(7);
  row.letter.key = answer.bytes(8);
  row.letter.reason = answer.bytes(9);
  row.letter.error = answer.bytes(10);
  row.letter.type = answer.bytes(11);
  row.letter.content_type = answer.bytes(12);
  row.letter.partition = answer.bytes(13);
  row.letter.position = answer.bytes(14);
  return row;
}

DeadLetterRow whole_at(const Answer& answer) {
  DeadLetterRow row = letter_at(answer);
  row.letter.headers = core::headers_of(answer.bytes(15));
  row.letter.payload = answer.bytes(16);
  return row;
}

HeldContent identity_in(const DeadLetter& letter) {
  HeldContent content;
  if (!letter.key.empty()) content.key = letter.key;
  content.partition = letter.partition;
  content.position = letter.position;
  return content;
}

}  // namespace

DeadLetterTexts::DeadLetterTexts(const Dialect& dialect)
    : keep(dialect, insert_or("UPDATE SET record = excluded.record, attempts = excluded.attempts, "
                              "dead_at = excluded.dead_at, reason = excluded.reason, "
                              "error = excluded.error")),
      find(dialect, whole_where("id = ?1")),
      find_locked(dialect, whole_where("id = ?1 FOR UPDATE")),
      find_named(dialect, whole_where("consumer = ?1 AND identity = ?2 AND fingerprint = ?3 "
                                      "AND record = ?4")),
      find_record(dialect, whole_where("consumer = ?1 AND record = ?2 AND fingerprint = ?3")),
      named(dialect, "SELECT record, fingerprint FROM semel_dead_letter WHERE identity IN " +
                         sql::list() + " AND consumer = " + std::string(kAfterMany) +
                         " AND record IS NOT NULL"),
      record(dialect, "SELECT record FROM semel_dead_letter WHERE id = ?1"),
      list(dialect, fmt::format("SELECT {} FROM semel_dead_letter WHERE id > ?1 "
                                "AND (?2 IS NULL OR consumer = ?2) "
                                "AND (?3 IS NULL OR reason = ?3) ORDER BY id LIMIT ?4",
                                kLetterColumns)),
      list_whole(dialect, whole_where("id > ?1 AND (?2 IS NULL OR consumer = ?2) "
                                      "AND (?3 IS NULL OR reason = ?3) ORDER BY id LIMIT ?4")),
      note(dialect, "UPDATE semel_dead_letter SET replayed = replayed + 1 WHERE id = ?1"),
      twin(dialect,
           "SELECT 1 FROM semel_dead_letter it JOIN semel_dead_letter other "
           "ON other.consumer = it.consumer AND other.identity = it.identity "
           "AND other.fingerprint = ?2 AND other.id <> it.id WHERE it.id = ?1"),
      edit(dialect,
           "UPDATE semel_dead_letter SET fingerprint = ?2, headers = ?3, payload = ?4, "
           "original = COALESCE(original, ?5) WHERE id = ?1"),
      replaces(dialect,
               "SELECT 1 FROM semel_dead_letter WHERE consumer = ?1 AND identity = ?2 "
               "AND fingerprint = ?3 AND record = ?4 AND original = ?5"),
      lock_adding(dialect, "SELECT version FROM semel_schema ORDER BY version FOR UPDATE"),
      add(dialect, insert_or("NOTHING")),
      same_unnamed(dialect,
                   "SELECT 1 FROM semel_dead_letter WHERE consumer = ?1 AND identity IS NULL "
                   "AND fingerprint = ?2 AND first_seen = ?3 AND dead_at = ?4"),
      discard(dialect, "DELETE FROM semel_dead_letter WHERE id = ?1"),
      count(dialect, "SELECT count(*) FROM semel_dead_letter WHERE consumer = ?1"),
      // Without the count, so that PostgreSQL finds both ends in the order of ids; the others have
      // the ids in the index of consumers.
      times(dialect,
            "SELECT oldest.dead_at, newest.dead_at FROM (SELECT min(id) AS lowest, "
            "max(id) AS highest FROM semel_dead_letter WHERE consumer = ?1) AS ends "
            "LEFT JOIN semel_dead_letter AS oldest ON oldest.id = ends.lowest "
            "LEFT JOIN semel_dead_letter AS newest ON newest.id = ends.highest") {}

void DeadLetterRows::keep(const HeldContent& content, const std::optional<KeyId>& record,
                          const Finish& finish, StoreTime first_seen, StoreTime now) {
  const auto identity = identity_of(content);
  const std::string headers = content.headers != nullptr ? core::text_of(*content.headers) : "";
  statements_.queue(
      texts_.keep,
      {content.consumer, binary(identity), content.fingerprint.value_or(Fingerprint{}), record, 0,
       finish.attempts, first_seen, now, content.key, finish.reason, finish.error, content.type,
       content.content_type, content.partition, content.position, headers, content.payload});
}

std::optional<DeadLetterRow> DeadLetterRows::find(std::int64_t id, Lock lock) {
  Answer answer =
      statements_.ask(lock == Lock::kForUpdate ? texts_.find_locked : texts_.find, {id});
  if (!answer.next()) return std::nullopt;
  return whole_at(answer);
}

std::optional<DeadLetterRow> DeadLetterRows::find(const KeyId& record, BytesView key,
                                                  const Fingerprint& fingerprint) {
  HeldContent named;
  named.key = key;
  Answer answer = statements_.ask(
      texts_.find_named, {record.consumer(), binary(identity_of(named)), fingerprint, record});
  if (answer.next()) return whole_at(answer);
  // A letter that was held without its key is identified by its position.
  Answer other = statements_.ask(texts_.find_record, {record.consumer(), record, fingerprint});
  if (other.next()) return whole_at(other);
  return std::nullopt;
}

void DeadLetterRows::spare_replayable(std::vector<DeadRecord>& records) {
  std::vector<digest::Short> identities;
  for (const DeadRecord& one : records) {
    if (one.steps) identities.push_back(identity_of_key(one.key));
  }
  if (identities.empty()) return;
  const ConsumerNumber consumer = records.front().id.consumer();
  std::set<std::pair<KeyId, Fingerprint>> named;
  in_parts(std::span<const digest::Short>(identities), [&](std::span<const digest::Short> part) {
    std::vector<Binary> values;
    for (const digest::Short& one : part) values.push_back(Binary{digest::view(one)});
    Answer answer = ask_many(statements_, texts_.named, std::span<const Binary>(values), consumer);
    while (answer.next()) named.emplace(answer.key_id(0), answer.fingerprint(1));
  });
  std::erase_if(records, [&](const DeadRecord& one) {
    return one.steps && named.contains({one.id, one.fingerprint});
  });
}

std::optional<KeyId> DeadLetterRows::record_of(std::int64_t id) {
  Answer answer = statements_.ask(texts_.record, {id});
  if (!answer.next() || answer.null(0)) return std::nullopt;
  return answer.key_id(0);
}

std::vector<DeadLetterRow> DeadLetterRows::list(const DeadLetterFilter& filter,
                                                std::optional<ConsumerNumber> consumer) {
  Answer answer = statements_.ask(filter.payloads ? texts_.list_whole : texts_.list,
                                  {filter.after, consumer, filter.reason, limit_of(filter.limit)});
  std::vector<DeadLetterRow> rows;
  while (answer.next()) rows.push_back(filter.payloads ? whole_at(answer) : letter_at(answer));
  return rows;
}

void DeadLetterRows::note_replay(std::int64_t id) { statements_.queue(texts_.note, {id}); }

bool DeadLetterRows::has_twin(std::int64_t id, const Fingerprint& fingerprint) {
  return statements_.ask(texts_.twin, {id, fingerprint}).next();
}

void DeadLetterRows::edit(const LetterEdit& edit) {
  statements_.queue(texts_.edit, {edit.id, edit.fingerprint, core::text_of(edit.headers),
                                  edit.payload, edit.before});
}

bool DeadLetterRows::replaces(const KeyId& record, BytesView key, const Fingerprint& now,
                              const Fingerprint& original) {
  HeldContent named;
  named.key = key;
  return statements_
      .ask(texts_.replaces, {record.consumer(), binary(identity_of(named)), now, record, original})
      .next();
}

void DeadLetterRows::lock_adding() { statements_.ask(texts_.lock_adding, {}); }

// A letter without key and position has no identity: its times distinguish it from another one.
bool DeadLetterRows::add(const DeadLetter& letter, ConsumerNumber consumer,
                         const std::optional<KeyId>& record) {
  const HeldContent content = identity_in(letter);
  const auto identity = identity_of(content);
  if (!identity) {
    const Answer same = statements_.ask(
        texts_.same_unnamed, {consumer, letter.fingerprint, letter.first_seen, letter.dead_at});
    if (same.changed() > 0) return false;
  }
  const Answer added = statements_.ask(
      texts_.add, {consumer, binary(identity), letter.fingerprint, record, letter.replayed,
                   letter.attempts, letter.first_seen, letter.dead_at, content.key, letter.reason,
                   letter.error, letter.type, letter.content_type, letter.partition,
                   letter.position, core::text_of(letter.headers), letter.payload});
  return added.changed() > 0;
}

bool DeadLetterRows::discard(std::int64_t id) {
  return statements_.ask(texts_.discard, {id}).changed() > 0;
}

std::size_t DeadLetterRows::count(ConsumerNumber consumer) {
  Answer answer = statements_.ask(texts_.count, {consumer});
  return answer.next() ? static_cast<std::size_t>(answer.integer(0)) : 0;
}

DeadLetterRows::Times DeadLetterRows::times(ConsumerNumber consumer) {
  Answer answer = statements_.ask(texts_.times, {consumer});
  if (!answer.next()) return {};
  return {answer.maybe_time(0), answer.maybe_time(1)};
}

HeldContent content_of(const DeadLetterRow& row, StoreTime due) {
  const DeadLetter& letter = row.letter;
  HeldContent content;
  content.consumer = row.consumer;
  content.due = due;
  // Without a key of its own the consumer's recipe looks for one again.
  if (row.record && !letter.key.empty()) {
    content.key = letter.key;
    content.fingerprint = letter.fingerprint;
  }
  content.payload = letter.payload;
  content.headers = &letter.headers;
  content.content_type = letter.content_type;
  content.type = letter.type;
  content.partition = letter.partition;
  content.position = letter.position;
  return content;
}

}  // namespace semel::sql
