#include "stores/mysql/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/key_encoding.h"
#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

// Rows that one transaction looks at: a claim of one of them waits that long.
constexpr std::size_t kPartRows = 4'000;
// Rows in one list.
constexpr std::size_t kListed = 500;
// A sweep reads all of a consumer's records, this often within its ttl.
constexpr int kSweepsInTtl = 8;

constexpr const char* kDelete = "DELETE {0} FROM {0} FORCE INDEX (PRIMARY) WHERE ";

std::string text_of(const KeyId& id) {
  std::string text;
  append_bytes(text, id.view(), Literals::kOurs);
  return text;
}

}  // namespace

Sweep::Sweep(const Dialect& dialect, Generations& generations, std::chrono::milliseconds patience)
    : generations_(generations),
      patience_(patience),
      begin_first_(dialect,
                   "INSERT INTO semel_sweep (consumer, begun_at, place) VALUES (?1, ?2, ?3) "
                   "ON CONFLICT (consumer) DO NOTHING"),
      place_(dialect, "SELECT begun_at, place FROM semel_sweep WHERE consumer = ?1 FOR UPDATE"),
      begin_(dialect, "UPDATE semel_sweep SET begun_at = ?2, place = ?3 WHERE consumer = ?1"),
      move_(dialect, "UPDATE semel_sweep SET place = ?2 WHERE consumer = ?1") {}

std::string Sweep::condition_of(const std::vector<Generation>& generations, StoreTime now) {
  std::string condition;
  for (const Generation& one : generations) {
    if (!one.ttl) continue;
    condition += condition.empty() ? "(" : " OR ";
    condition += fmt::format("generation = {} AND changed_at < ", one.number);
    append_time(condition, now - *one.ttl);
  }
  return condition.empty() ? condition : "state = 'completed' AND " + condition + ")";
}

std::size_t Sweep::run(Connection& connection, const sql::ConsumerRow& consumer, StoreTime now,
                       sql::PurgeBudget& budget) {
  const KeyId last = core::ids_of(consumer.number).second;
  std::size_t forgotten = 0;
  // Continuing another's sweep does not cover all: only that process looked at the part before its
  // place.
  for (bool over = false; !(over && begun_.contains(consumer.number)) && !budget.ended();) {
    connection.begin(patience_);
    const std::optional<KeyId> behind = place(connection, consumer, now);
    // No ttl grows before this transaction ends.
    generations_.keep(connection);
    const std::string past = condition_of(generations_.look(connection), now);
    if (!behind || past.empty()) {
      connection.roll_back();
      break;
    }
    const Part part = look(connection, *behind, last, past);
    over = part.rows < kPartRows;
    forgotten += forget(connection, *behind, part, past);
    connection.queue(move_, {consumer.number, over ? std::nullopt : std::optional(part.last)});
    connection.commit();
  }
  return forgotten;
}

std::optional<KeyId> Sweep::place(Connection& connection, const sql::ConsumerRow& consumer,
                                  StoreTime now) {
  const KeyId first = core::ids_of(consumer.number).first;
  sql::Answer row = connection.ask(place_, {consumer.number});
  if (!row.next()) {
    connection.queue(begin_first_, {consumer.number, now, first});
    row = connection.ask(place_, {consumer.number});
    row.next();
    begun_.insert(consumer.number);
  }
  if (!row.null(1)) return row.key_id(1);
  const bool due = now >= row.time(0) + *consumer.ttl / kSweepsInTtl;
  if (!due && begun_.contains(consumer.number)) return std::nullopt;
  begun_.insert(consumer.number);
  connection.queue(begin_, {consumer.number, now, first});
  return first;
}

// Locks nothing: rows locked by others are waited for only if they are to be forgotten.
Sweep::Part Sweep::look(Connection& connection, const KeyId& behind, const KeyId& last,
                        const std::string& past) {
  sql::Answer answer = connection.ask(fmt::format(
      "SELECT COUNT(*), MAX(id), COALESCE(SUM(past), 0), COALESCE(SUM(past AND inbox IS NULL), 0) "
      "FROM (SELECT id, inbox, {} AS past FROM semel_record FORCE INDEX (PRIMARY) "
      "WHERE id > {} AND id <= {} ORDER BY id LIMIT {}) AS part",
      past, text_of(behind), text_of(last), kPartRows));
  Part part;
  if (!answer.next() || answer.null(1)) return part;
  part.rows = static_cast<std::size_t>(answer.integer(0));
  part.last = answer.key_id(1);
  part.past = static_cast<std::size_t>(answer.integer(2));
  part.whole = static_cast<std::size_t>(answer.integer(3)) == part.rows;
  return part;
}

std::size_t Sweep::forget(Connection& connection, const KeyId& behind, const Part& part,
                          const std::string& past) {
  if (part.past == 0) return 0;
  const std::string range =
      fmt::format("id > {} AND id <= {}", text_of(behind), text_of(part.last));
  if (!part.whole) return forget_some(connection, range, past);
  connection.queue(fmt::format(fmt::runtime(kDelete), "semel_record") + range + " AND " + past);
  return connection.run().back().changed;
}

// By their ids: a range would wait for everything that others have locked in between.
std::size_t Sweep::forget_some(Connection& connection, const std::string& range,
                               const std::string& past) {
  sql::Answer found = connection.ask(fmt::format(
      "SELECT id, inbox FROM semel_record FORCE INDEX (PRIMARY) WHERE {} AND {} ORDER BY id", range,
      past));
  std::vector<std::string> ids;
  std::vector<std::int64_t> inbox;
  while (found.next()) {
    ids.push_back(text_of(found.key_id(0)));
    if (const auto row = found.maybe_integer(1)) inbox.push_back(*row);
  }
  std::ranges::sort(inbox);
  for (std::size_t i = 0; i < inbox.size(); i += kListed) {
    const auto part = std::span(inbox).subspan(i, std::min(kListed, inbox.size() - i));
    connection.queue(fmt::format(fmt::runtime(kDelete), "semel_inbox") +
                     fmt::format("row_id IN ({})", fmt::join(part, ", ")));
  }
  connection.run();
  // Another process may have forgotten one meanwhile, and a third one made it anew.
  for (std::size_t i = 0; i < ids.size(); i += kListed) {
    const auto part = std::span(ids).subspan(i, std::min(kListed, ids.size() - i));
    connection.queue(fmt::format(fmt::runtime(kDelete), "semel_record") +
                     fmt::format("id IN ({}) AND {}", fmt::join(part, ", "), past));
  }
  std::size_t forgotten = 0;
  for (const Said& said : connection.run()) forgotten += said.changed;
  return forgotten;
}

}  // namespace semel::mysql
