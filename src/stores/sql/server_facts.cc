#include "stores/sql/server_facts.h"

#include <fmt/format.h>

#include <string>

#include "stores/sql/consumer_stats.h"
#include "stores/sql/findings.h"
#include "stores/sql/held_lines.h"

namespace semel::sql {
namespace {

// A generation with more records is not counted: the server's estimate is reported.
constexpr std::size_t kCounted = 1'000'000;

std::string asked(std::string_view sql) {
  return fmt::format("{} LIMIT {}", sql, Findings::kAsked);
}

Session& session_of(Access& access) { return static_cast<Session&>(access.statements()); }

std::int64_t one_of(Answer answer) { return answer.next() ? answer.integer(0) : 0; }

}  // namespace

ServerFacts::ServerFacts(const Dialect& dialect, Facts& facts)
    : facts_(facts),
      version_(dialect, "SELECT max(version) FROM semel_schema"),
      epoch_(dialect, "SELECT epoch FROM semel_meta"),
      generations_(dialect,
                   "SELECT number, ttl, state, created_at FROM semel_generation "
                   "ORDER BY number DESC"),
      completed_(dialect,
                 "SELECT substr(id, 1, 4), count(*), max(changed_at) FROM semel_record "
                 "WHERE generation = ?1 AND state = 'completed' GROUP BY substr(id, 1, 4)"),
      open_twice_(dialect, asked(fmt::format("SELECT coalesce(it.message_key, it.id) FROM {} it "
                                             "JOIN semel_record other ON other.id = it.id "
                                             "AND other.generation <> it.generation "
                                             "WHERE it.state <> 'completed'",
                                             dialect.open_records()))),
      twice_(dialect, asked("SELECT it.id FROM semel_record it JOIN semel_record other "
                            "ON other.id = it.id AND other.generation > it.generation "
                            "WHERE it.state = 'completed' AND other.state = 'completed'")),
      inbox_missing_(dialect, asked("SELECT r.id FROM semel_record r WHERE r.state = 'completed' "
                                    "AND r.inbox IS NOT NULL AND NOT EXISTS "
                                    "(SELECT 1 FROM semel_inbox i WHERE i.row_id = r.inbox)")),
      generation_unknown_(dialect, asked("SELECT r.id FROM semel_record r WHERE NOT EXISTS "
                                         "(SELECT 1 FROM semel_generation g "
                                         "WHERE g.number = r.generation)")) {}

VerifyWords ServerFacts::words() const noexcept { return {"semel_record", kNever, kBehind}; }

void ServerFacts::describe(Access& access, StoreStats& stats) {
  Session& session = session_of(access);
  stats.schema_version = static_cast<int>(one_of(session.ask(version_, {})));
  stats.epoch = static_cast<std::uint64_t>(one_of(session.ask(epoch_, {})));
  stats.bytes = facts_.bytes(session);
}

void ServerFacts::count_generations(Access& access, StoreStats& stats) {
  Session& session = session_of(access);
  Answer answer = session.ask(generations_, {});
  bool unread = false;
  while (answer.next()) {
    StoreStats::Generation told;
    told.number = answer.integer(0);
    if (!answer.null(1)) told.ttl = std::chrono::milliseconds(answer.integer(1));
    told.active = answer.bytes(2) == "active";
    told.created_at = answer.time(3);
    told.records = facts_.about_records(session, told.number).value_or(0);
    const bool counted = told.records <= kCounted;
    if (counted) told.records = count_completed(session, told.number, stats);
    // A record that is not read may be newer than those that are.
    unread = unread || (!counted && told.active);
    stats.generations.push_back(told);
  }
  if (!unread) return;
  for (StoreStats::Consumer& one : stats.consumers) one.last_change.reset();
}

std::size_t ServerFacts::count_completed(Session& session, std::int64_t generation,
                                         StoreStats& stats) {
  std::size_t count = 0;
  Answer answer = session.ask(completed_, {generation});
  while (answer.next()) {
    KeyId head;
    answer.bytes(0).copy(reinterpret_cast<char*>(head.bytes.data()), head.bytes.size());
    count += static_cast<std::size_t>(answer.integer(1));
    auto* const told = consumer_in(stats, head.consumer());
    if (told != nullptr) core::note_change(*told, answer.maybe_time(2));
  }
  return count;
}

std::vector<StoreFinding> ServerFacts::verify_tables(Access& access, bool full) {
  return facts_.verify(session_of(access), full);
}

std::vector<StoreFinding> ServerFacts::verify_generations(Access& access, bool full) {
  Session& session = session_of(access);
  Findings findings;
  const auto each = [&](const char* what, const SqlText& text, const char* detail) {
    findings.add_each(what, "semel_record", session.ask(text, {}), detail);
  };
  each("record.twice", open_twice_, "stands in another generation too");
  if (!full) return findings.take();
  each("record.twice", twice_, "completed in more than one generation");
  each("record.inbox_missing", inbox_missing_, "its message is not in the inbox");
  each("generation.unknown", generation_unknown_,
       "stands in a generation that is not listed: it is never forgotten");
  return findings.take();
}

}  // namespace semel::sql
