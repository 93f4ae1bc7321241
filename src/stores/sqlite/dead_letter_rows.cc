#include "stores/sqlite/dead_letter_rows.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/digest.h"
#include "core/headers_text.h"
#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

constexpr std::string_view kByKey = "semel.dead_letter.key";
constexpr std::string_view kByPosition = "semel.dead_letter.position";

// Keys and positions may be long; the index holds digests of them.
std::optional<digest::Short> identity_of(const HeldContent& content) {
  if (content.key) {
    const std::array<BytesView, 1> parts = {*content.key};
    return digest::shortened(digest::sha256_parts(kByKey, parts));
  }
  if (content.position.empty()) return std::nullopt;
  const std::array<BytesView, 2> parts = {content.partition, content.position};
  return digest::shortened(digest::sha256_parts(kByPosition, parts));
}

// What `keep` and `add` say alike. Borrows everything until the statement has run.
void bind_content(Prepared& statement, const HeldContent& content,
                  const std::optional<digest::Short>& identity, const Fingerprint& fingerprint,
                  const std::string& headers) {
  statement.bind(1, content.consumer)
      .bind(3, fingerprint)
      .bind_bytes(11, content.type)
      .bind_bytes(12, content.content_type)
      .bind_bytes(13, content.partition)
      .bind_bytes(14, content.position)
      .bind_bytes(15, headers)
      .bind_bytes(16, content.payload);
  if (identity) {
    statement.bind_blob(2, digest::view(*identity));
  } else {
    statement.bind_null(2);
  }
  if (content.key) {
    statement.bind_bytes(8, *content.key);
  } else {
    statement.bind_null(8);
  }
}

DeadLetterRow letter_at(const Prepared& at, bool payloads) {
  DeadLetterRow row;
  row.letter.id = at.integer(0);
  row.consumer = at.consumer(1);
  row.letter.fingerprint = at.fingerprint(2);
  if (!at.null(3)) row.record = at.key_id(3);
  row.letter.replayed = at.small(4);
  row.letter.attempts = at.small(5);
  row.letter.first_seen = at.time(6);
  row.letter.dead_at = at.time(7);
  row.letter.key = at.text(8);
  row.letter.reason = at.text(9);
  row.letter.error = at.text(10);
  row.letter.type = at.text(11);
  row.letter.content_type = at.text(12);
  row.letter.partition = at.text(13);
  row.letter.position = at.text(14);
  if (!payloads) return row;
  row.letter.headers = core::headers_of(at.bytes(15));
  row.letter.payload = at.text(16);
  return row;
}

}  // namespace

DeadLetterRows::DeadLetterRows(Connection& connection)
    : keep_(connection,
            "INSERT INTO semel_dead_letter (consumer, identity, fingerprint, record, replayed, "
            "attempts, first_seen, dead_at, key, reason, error, type, content_type, partition, "
            "position, headers, payload) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
            "?12, ?13, ?14, ?15, ?16) "
            "ON CONFLICT (consumer, identity, fingerprint) DO UPDATE SET record = "
            "excluded.record, attempts = excluded.attempts, dead_at = excluded.dead_at, reason = "
            "excluded.reason, error = excluded.error"),
      find_(connection,
            "SELECT id, consumer, fingerprint, record, replayed, attempts, first_seen, dead_at, "
            "key, reason, error, type, content_type, partition, position, headers, payload "
            "FROM semel_dead_letter WHERE id = ?1"),
      find_record_(connection,
                   "SELECT id, consumer, fingerprint, record, replayed, attempts, first_seen, "
                   "dead_at, key, reason, error, type, content_type, partition, position, headers, "
                   "payload FROM semel_dead_letter WHERE consumer = ?1 AND record = ?2 AND "
                   "fingerprint = ?3"),
      list_(connection,
            "SELECT id, consumer, fingerprint, record, replayed, attempts, first_seen, dead_at, "
            "key, reason, error, type, content_type, partition, position, headers, payload "
            "FROM semel_dead_letter WHERE id > ?1 AND (?2 IS NULL OR consumer = ?2) "
            "AND (?3 IS NULL OR reason = ?3) ORDER BY id LIMIT ?4"),
      replay_(connection, "UPDATE semel_dead_letter SET replayed = replayed + 1 WHERE id = ?1"),
      twin_(connection,
            "SELECT 1 FROM semel_dead_letter AS it JOIN semel_dead_letter AS other ON "
            "other.consumer = it.consumer AND other.identity = it.identity "
            "AND other.fingerprint = ?2 AND other.id <> it.id WHERE it.id = ?1"),
      edit_(connection,
            "UPDATE semel_dead_letter SET fingerprint = ?2, headers = ?3, payload = ?4 "
            "WHERE id = ?1"),
      // A letter without key and position has no identity: its times tell it from another one.
      add_(connection,
           "INSERT INTO semel_dead_letter (consumer, identity, fingerprint, record, replayed, "
           "attempts, first_seen, dead_at, key, reason, error, type, content_type, partition, "
           "position, headers, payload) SELECT ?1, ?2, ?3, ?4, ?17, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
           "?12, ?13, ?14, ?15, ?16 WHERE ?2 IS NOT NULL OR NOT EXISTS (SELECT 1 FROM "
           "semel_dead_letter WHERE consumer = ?1 AND identity IS NULL AND fingerprint = ?3 "
           "AND first_seen = ?6 AND dead_at = ?7) "
           "ON CONFLICT (consumer, identity, fingerprint) DO NOTHING"),
      discard_(connection, "DELETE FROM semel_dead_letter WHERE id = ?1"),
      count_(connection, "SELECT count(*) FROM semel_dead_letter WHERE consumer = ?1"),
      last_(connection, "SELECT max(dead_at) FROM semel_dead_letter WHERE consumer = ?1") {}

void DeadLetterRows::keep(const HeldContent& content, const std::optional<KeyId>& record,
                          const Finish& finish, StoreTime first_seen, StoreTime now) {
  const auto identity = identity_of(content);
  const Fingerprint fingerprint = content.fingerprint.value_or(Fingerprint{});  // bound, not copied
  const std::string headers = content.headers != nullptr ? core::text_of(*content.headers) : "";
  keep_.bind(4, record).bind(5, finish.attempts).bind(6, first_seen).bind(7, now);
  keep_.bind_bytes(9, finish.reason).bind_bytes(10, finish.error);
  bind_content(keep_, content, identity, fingerprint, headers);
  keep_.run();
}

bool DeadLetterRows::has_twin(std::int64_t id, const Fingerprint& fingerprint) {
  twin_.bind(1, id).bind(2, fingerprint);
  const Reading reading(twin_);
  return twin_.next();
}

void DeadLetterRows::edit(const LetterEdit& edit) {
  const std::string headers = core::text_of(edit.headers);
  edit_.bind(1, edit.id)
      .bind(2, edit.fingerprint)
      .bind_bytes(3, headers)
      .bind_bytes(4, edit.payload)
      .run();
}

bool DeadLetterRows::add(const DeadLetter& letter, ConsumerNumber consumer,
                         const std::optional<KeyId>& record) {
  HeldContent content;
  content.consumer = consumer;
  if (!letter.key.empty()) content.key = letter.key;
  content.payload = letter.payload;
  content.content_type = letter.content_type;
  content.type = letter.type;
  content.partition = letter.partition;
  content.position = letter.position;
  const auto identity = identity_of(content);
  const std::string headers = core::text_of(letter.headers);
  add_.bind(4, record).bind(5, letter.attempts).bind(6, letter.first_seen).bind(7, letter.dead_at);
  add_.bind_bytes(9, letter.reason).bind_bytes(10, letter.error).bind(17, letter.replayed);
  bind_content(add_, content, identity, letter.fingerprint, headers);
  return add_.change() > 0;
}

std::optional<DeadLetterRow> DeadLetterRows::find(std::int64_t id) {
  find_.bind(1, id);
  const Reading reading(find_);
  if (!find_.next()) return std::nullopt;
  return letter_at(find_, true);
}

std::optional<DeadLetterRow> DeadLetterRows::find(const KeyId& record,
                                                  const Fingerprint& fingerprint) {
  find_record_.bind(1, record.consumer()).bind(2, record).bind(3, fingerprint);
  const Reading reading(find_record_);
  if (!find_record_.next()) return std::nullopt;
  return letter_at(find_record_, true);
}

std::vector<DeadLetterRow> DeadLetterRows::list(const DeadLetterFilter& filter,
                                                std::optional<ConsumerNumber> consumer) {
  list_.bind(1, filter.after)
      .bind(2, consumer)
      .bind(4, static_cast<std::int64_t>(
                   std::min<std::size_t>(filter.limit, std::numeric_limits<std::int64_t>::max())));
  if (filter.reason) {
    list_.bind_text(3, *filter.reason);
  } else {
    list_.bind_null(3);
  }
  std::vector<DeadLetterRow> rows;
  const Reading reading(list_);
  while (list_.next()) rows.push_back(letter_at(list_, filter.payloads));
  return rows;
}

void DeadLetterRows::note_replay(std::int64_t id) { replay_.bind(1, id).run(); }

bool DeadLetterRows::discard(std::int64_t id) { return discard_.bind(1, id).change() > 0; }

std::size_t DeadLetterRows::count(ConsumerNumber consumer) {
  count_.bind(1, consumer);
  const Reading reading(count_);
  return count_.next() ? static_cast<std::size_t>(count_.integer(0)) : 0;
}

std::optional<StoreTime> DeadLetterRows::last(ConsumerNumber consumer) {
  last_.bind(1, consumer);
  const Reading reading(last_);
  return last_.next() ? last_.maybe_time(0) : std::nullopt;
}

HeldContent content_of(const DeadLetterRow& row, StoreTime due) {
  const DeadLetter& letter = row.letter;
  HeldContent content;
  content.consumer = row.consumer;
  content.due = due;
  // Without a key of its own the consumer's recipe looks again.
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

}  // namespace semel::sqlite
