#include "stores/mysql/record_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

// Keys in one statement. MariaDB makes a temporary table of a longer list.
constexpr std::size_t kPart = 500;
// Otherwise the server may scan, and lock, the whole of a small table.
constexpr const char* kByKey = "FORCE INDEX (PRIMARY)";

// Completed is the default state: a claim writes as few columns as possible.
constexpr const char* kInsertCompleted =
    "INSERT INTO semel_record (id, generation, fingerprint, changed_at) VALUES ";
constexpr const char* kInsertWithInbox =
    "INSERT INTO semel_record (id, generation, fingerprint, changed_at, inbox) VALUES ";

template <class T, class Each>
void in_parts(std::span<const T> values, Each&& each) {
  for (; !values.empty(); values = values.subspan(std::min(kPart, values.size()))) {
    each(values.first(std::min(kPart, values.size())));
  }
}

// "(…, …)"
std::string key_list(std::span<const KeyId> ids, Literals literals) {
  std::string list = "(";
  for (const KeyId& id : ids) {
    if (list.size() > 1) list += ", ";
    append_bytes(list, id.view(), literals);
  }
  return list + ')';
}

// Each once; `holdings` are sorted.
std::vector<KeyId> keys_of(std::span<const sql::Holding> holdings) {
  std::vector<KeyId> keys;
  keys.reserve(holdings.size());
  for (const sql::Holding& one : holdings) {
    if (keys.empty() || keys.back() != one.key) keys.push_back(one.key);
  }
  return keys;
}

void append_milliseconds(std::string& out, std::chrono::milliseconds time) {
  constexpr std::int64_t kMicros = 1000;
  out += fmt::format(" + INTERVAL {} MICROSECOND", time.count() * kMicros);
}

void read(const Said& said, FoundRows& found) {
  sql::Answer answer = answer_of(said);
  while (answer.next()) {
    found.rows.push_back({answer.key_id(0), sql::record_at(answer)});
    found.now = answer.time(sql::kRecordColumns);
    const bool with_inbox = answer.columns() > sql::kRecordColumns + 1;
    if (with_inbox && !answer.null(sql::kRecordColumns + 1)) {
      found.rows.back().row.record.result = answer.bytes(sql::kRecordColumns + 1);
    }
  }
}

}  // namespace

std::string RecordBatch::select(std::span<const KeyId> ids, Hold hold, bool with_result) const {
  std::string text =
      fmt::format("SELECT {}, {}{} FROM semel_record AS r {}{} WHERE r.id IN ",
                  sql::record_columns("r."), clock_, with_result ? ", i.result" : "", kByKey,
                  with_result ? " LEFT JOIN semel_inbox AS i ON i.row_id = r.inbox" : "");
  text += key_list(ids, connection_.literals());
  if (hold == Hold::kLock) text += " ORDER BY r.id FOR UPDATE";
  return text;
}

FoundRows RecordBatch::find(std::span<const KeyId> ids, Hold hold, bool with_result) {
  std::size_t parts = 0;
  in_parts(ids, [&](std::span<const KeyId> part) {
    connection_.queue(select(part, hold, with_result));
    ++parts;
  });
  FoundRows found;
  if (parts == 0) return found;
  const std::vector<Said> said = connection_.run();
  for (std::size_t at = said.size() - parts; at < said.size(); ++at) read(said[at], found);
  return found;
}

std::vector<sql::Holding> RecordBatch::lock_held(std::span<const Lease> leases, Beside beside) {
  std::vector<sql::Holding> sorted;
  sorted.reserve(leases.size());
  for (const Lease& lease : leases) sorted.push_back({lease.key, lease.nonce});
  std::ranges::sort(sorted);
  const std::vector<KeyId> ids = keys_of(sorted);
  std::size_t parts = 0;
  in_parts(std::span<const KeyId>(ids), [&](std::span<const KeyId> part) {
    std::string text = fmt::format(
        "SELECT id, nonce FROM semel_record {} WHERE state = 'consuming'{} AND id IN ", kByKey,
        beside == Beside::kNothing ? " AND held IS NULL AND inbox IS NULL" : "");
    text += key_list(part, connection_.literals());
    connection_.queue(text + " ORDER BY id FOR UPDATE");
    ++parts;
  });
  std::vector<sql::Holding> held;
  if (parts == 0) return held;
  const std::vector<Said> said = connection_.run();
  for (std::size_t at = said.size() - parts; at < said.size(); ++at) {
    sql::Answer answer = answer_of(said[at]);
    while (answer.next()) {
      const sql::Holding holding{answer.key_id(0), answer.nonce(1)};
      if (std::ranges::binary_search(sorted, holding)) held.push_back(holding);
    }
  }
  return held;
}

void RecordBatch::queue_renewal(std::span<const sql::Holding> held,
                                std::chrono::milliseconds lease) {
  const std::vector<KeyId> ids = keys_of(held);
  in_parts(std::span<const KeyId>(ids), [&](std::span<const KeyId> part) {
    std::string text = fmt::format("UPDATE semel_record {} SET lease_until = {}", kByKey, clock_);
    append_milliseconds(text, lease);
    connection_.queue(text + " WHERE id IN " + key_list(part, connection_.literals()));
  });
}

void RecordBatch::append_completed(std::string& text, const New& one,
                                   std::int64_t generation) const {
  text += '(';
  append_bytes(text, one.id.view(), connection_.literals());
  text += ", ";
  append_integer(text, generation);
  text += ", ";
  append_bytes(text, one.fingerprint->view(), connection_.literals());
  text += ", ";
  text += clock_;
  if (one.inbox) {
    text += ", ";
    append_integer(text, *one.inbox);
  }
  text += ')';
}

void RecordBatch::queue_completed(std::span<const New> records, std::int64_t generation) {
  in_parts(records, [&](std::span<const New> part) {
    std::string text = part.front().inbox ? kInsertWithInbox : kInsertCompleted;
    for (const New& one : part) {
      if (&one != part.data()) text += ", ";
      append_completed(text, one, generation);
    }
    connection_.queue(text + " ON DUPLICATE KEY UPDATE id = id");
  });
}

// An existing row makes the statement return a number, which no column of a new one does: the
// number of changed rows depends on the client (CLIENT_FOUND_ROWS).
std::vector<bool> RecordBatch::make_completed(std::span<const New> records,
                                              std::int64_t generation) {
  for (const New& record : records) {
    std::string text = record.inbox ? kInsertWithInbox : kInsertCompleted;
    append_completed(text, record, generation);
    connection_.queue(text + " ON DUPLICATE KEY UPDATE generation = LAST_INSERT_ID(generation)");
  }
  const std::vector<Said> said = connection_.run();
  std::vector<bool> made;
  made.reserve(records.size());
  // The answers of statements queued earlier come first.
  for (std::size_t at = said.size() - records.size(); at < said.size(); ++at) {
    made.push_back(said[at].number == 0);
  }
  return made;
}

void RecordBatch::queue_consuming(std::span<const New> records, std::int64_t generation,
                                  std::chrono::milliseconds lease, std::int64_t holder) {
  std::size_t place = 0;
  in_parts(records, [&](std::span<const New> part) {
    std::string text =
        "INSERT INTO semel_record (id, generation, state, fingerprint, changed_at, token, nonce, "
        "lease_until, attempt, outcome_unknown, first_seen, holder, message_key) VALUES ";
    for (const New& one : part) {
      text += &one == part.data() ? "(" : ", (";
      append_bytes(text, one.id.view(), connection_.literals());
      text += fmt::format(", {}, 'consuming', ", generation);
      append_bytes(text, one.fingerprint->view(), connection_.literals());
      text += fmt::format(", {}, {}, ", clock_, place++);
      append(text, sql::Param(*one.nonce), connection_.literals());
      text += ", " + clock_;
      append_milliseconds(text, lease);
      text += fmt::format(", 1, FALSE, {}, {}, ", clock_, holder);
      append_bytes(text, one.key, connection_.literals());
      text += ')';
    }
    connection_.queue(text + " ON DUPLICATE KEY UPDATE id = id");
    queue_listing(part);
  });
}

// A process that loses a race for one lists what the winner lists.
void RecordBatch::queue_listing(std::span<const New> records) {
  std::string text = "INSERT INTO semel_open (id) VALUES ";
  for (const New& one : records) {
    text += &one == records.data() ? "(" : ", (";
    append_bytes(text, one.id.view(), connection_.literals());
    text += ')';
  }
  connection_.queue(text + " ON DUPLICATE KEY UPDATE id = id");
}

void RecordBatch::queue_unlisting(std::span<const KeyId> ids) {
  in_parts(ids, [&](std::span<const KeyId> part) {
    connection_.queue(fmt::format("DELETE semel_open FROM semel_open {} WHERE id IN {}", kByKey,
                                  key_list(part, connection_.literals())));
  });
}

void RecordBatch::queue_token() {
  connection_.draw();
  connection_.queue(
      fmt::format("SET @semel_token = (SELECT epoch FROM semel_meta) * 4294967296 + "
                  "LAST_INSERT_ID() * {}",
                  Connection::kNumbers));
  connection_.queue("SELECT @semel_token");
}

void RecordBatch::queue_tokens_of(std::span<const New> records) {
  std::vector<KeyId> ids;
  ids.reserve(records.size());
  for (const New& one : records) ids.push_back(one.id);
  in_parts(std::span<const KeyId>(ids), [&](std::span<const KeyId> part) {
    connection_.queue(
        fmt::format("UPDATE semel_record {} SET token = @semel_token + token WHERE id IN {}",
                    kByKey, key_list(part, connection_.literals())));
  });
}

std::vector<KeyId> RecordBatch::held_by_others(std::span<const KeyId> ids) {
  std::vector<KeyId> there;
  std::vector<KeyId> free;
  in_parts(ids, [&](std::span<const KeyId> part) {
    const std::string from = fmt::format("SELECT id FROM semel_record {} WHERE id IN {}", kByKey,
                                         key_list(part, connection_.literals()));
    connection_.queue("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    connection_.queue("START TRANSACTION");
    connection_.queue(from);
    connection_.queue(from + " FOR UPDATE SKIP LOCKED");
    connection_.queue("ROLLBACK");
    std::vector<Said> said = connection_.run();
    sql::Answer all = answer_of(said[said.size() - 3]);
    while (all.next()) there.push_back(all.key_id(0));
    sql::Answer lockable = answer_of(said[said.size() - 2]);
    while (lockable.next()) free.push_back(lockable.key_id(0));
  });
  std::ranges::sort(there);
  std::ranges::sort(free);
  std::vector<KeyId> held;
  std::ranges::set_difference(there, free, std::back_inserter(held));
  return held;
}

void ManyRecords::lock(std::span<const KeyId> records) {
  in_parts(records, [&](std::span<const KeyId> part) {
    connection_.queue(
        fmt::format("SELECT id FROM semel_record {} WHERE id IN {} ORDER BY id "
                    "FOR UPDATE",
                    kByKey, key_list(part, connection_.literals())));
  });
}

std::vector<KeyId> ManyRecords::complete(std::span<const Finish* const> finishes) {
  RecordBatch batch(connection_, clock_);
  std::vector<Lease> leases;
  leases.reserve(finishes.size());
  for (const Finish* const finish : finishes) leases.push_back(*finish->lease);
  std::vector<KeyId> completed = keys_of(batch.lock_held(leases, RecordBatch::Beside::kNothing));
  const std::string done = fmt::format(
      "UPDATE semel_record {} SET state = 'completed', changed_at = {}, token = NULL, nonce = "
      "NULL, lease_until = NULL, attempt = NULL, outcome_unknown = NULL, next_at = NULL, "
      "first_seen = NULL, holder = NULL, message_key = NULL, reason = NULL, error = NULL, "
      "result = ",
      kByKey, clock_);
  std::vector<const Finish*> with_result;
  std::ranges::copy_if(finishes, std::back_inserter(with_result),
                       [](const Finish* finish) { return !finish->result.empty(); });
  std::ranges::sort(with_result, {}, [](const Finish* finish) { return finish->lease->key; });
  std::vector<KeyId> without_result;
  for (const KeyId& id : completed) {
    const auto finish = std::ranges::lower_bound(with_result, id, {},
                                                 [](const Finish* f) { return f->lease->key; });
    if (finish == with_result.end() || (*finish)->lease->key != id) {
      without_result.push_back(id);
      continue;
    }
    std::string text = done;
    append_bytes(text, (*finish)->result, connection_.literals());
    text += " WHERE id = ";
    append_bytes(text, id.view(), connection_.literals());
    connection_.queue(text);
  }
  in_parts(std::span<const KeyId>(without_result), [&](std::span<const KeyId> part) {
    connection_.queue(done + "NULL WHERE id IN " + key_list(part, connection_.literals()));
  });
  batch.queue_unlisting(completed);
  return completed;
}

void ManyRecords::set_results(std::span<const WithResult> records) {
  for (const WithResult& one : records) {
    std::string text = "UPDATE semel_record SET result = ";
    append_bytes(text, one.result, connection_.literals());
    text += " WHERE id = ";
    append_bytes(text, one.id.view(), connection_.literals());
    connection_.queue(text);
  }
}

// As many in a statement as a server with usual settings takes; a longer message is sent alone.
void ManyRecords::keep(std::span<const Kept> messages) {
  constexpr std::size_t kEnoughText = 256 * 1024;
  std::string text;
  for (const Kept& one : messages) {
    text += text.empty() ? "INSERT INTO semel_inbox (row_id, consumer, message_key, type, "
                           "content_type, received_at, processed_at, result, payload) VALUES "
                         : ", ";
    text += '(';
    append_integer(text, one.row);
    text += ", ";
    append_integer(text, static_cast<std::int64_t>(one.message->key().id.consumer()));
    for (const BytesView bytes :
         {BytesView(one.message->key().text), BytesView(one.message->type()),
          BytesView(one.message->content_type())}) {
      text += ", ";
      append_bytes(text, bytes, connection_.literals());
    }
    text += fmt::format(", {0}, {0}, ", clock_);
    one.result.empty() ? void(text += "NULL")
                       : append_bytes(text, one.result, connection_.literals());
    text += ", ";
    append_bytes(text, one.message->payload(), connection_.literals());
    text += ')';
    if (text.size() > kEnoughText) {
      connection_.queue(text);
      text.clear();
    }
  }
  if (!text.empty()) connection_.queue(text);
}

}  // namespace semel::mysql
