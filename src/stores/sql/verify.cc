#include "stores/sql/verify.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "stores/sql/findings.h"

namespace semel::sql {
namespace {

std::string some(std::string_view sql) { return fmt::format("{} LIMIT {}", sql, Findings::kAsked); }

class StoreLook {
 public:
  StoreLook(Access& access, const VerifyTexts& texts, const VerifyWords& words)
      : access_(access), texts_(texts), words_(words) {}

  std::vector<StoreFinding> found() {
    consumers();
    payloads();
    return findings_.take();
  }

 private:
  void each(const std::string& what, std::string_view table, const SqlText& text,
            const std::string& detail, std::initializer_list<Param> params = {}) {
    findings_.add_each(what, table, access_.statements().ask(text, params), detail);
  }

  void consumers() {
    // Counted first: a consumer that comes meanwhile has a name, and none goes.
    const auto counts = access_.looks().counts(access_.now());
    std::set<ConsumerNumber> known;
    for (const ConsumerRow& row : access_.tables().consumers.all()) known.insert(row.number);
    for (const RecordCount& count : counts) {
      if (known.contains(count.consumer)) continue;
      findings_.add(true, "consumer.unknown", std::string(words_.records),
                    fmt::format("{} records of consumer number {}, which has no name", count.rows,
                                static_cast<std::uint32_t>(count.consumer)));
    }
    nameless("semel_held", texts_.held_rows);
    nameless("semel_dead_letter", texts_.dead_letters);
    nameless("semel_inbox", texts_.inbox);
  }

  void nameless(const char* table, const SqlText& count) {
    Answer answer = access_.statements().ask(count, {});
    const std::int64_t rows = answer.next() ? answer.integer(0) : 0;
    if (rows == 0) return;
    findings_.add(true, "consumer.unknown", table,
                  fmt::format("{} rows of a consumer that has no name", rows));
  }

  void payloads() {
    each("record.held_missing", words_.records, texts_.held_missing,
         "its payload should be held, and is not there: it can not come back by itself");
    each("record.held_shared", "semel_held", texts_.held_shared, "held for more than one record");
    each("record.inbox_missing", words_.records, texts_.open_inbox_missing,
         "its message should be in the inbox, and is not there");
    each("held.inbox_missing", "semel_held", texts_.held_inbox_missing,
         "its message should be in the inbox, and is not there");
    each("held.lost", "semel_held", texts_.held_lost, "kept for a person, and no record names it",
         {words_.never});
    each("held.stuck", "semel_held", texts_.held_stuck,
         "waits for what is before it in its line, and nothing is", {words_.behind});
    each("held.place_twice", "semel_held", texts_.place_twice,
         "another row has its place in its line");
  }

  Access& access_;
  const VerifyTexts& texts_;
  const VerifyWords& words_;
  Findings findings_;
};

std::string of_nobody(std::string_view table) {
  return fmt::format(
      "SELECT count(*) FROM {} t WHERE NOT EXISTS "
      "(SELECT 1 FROM semel_consumer c WHERE c.number = t.consumer)",
      table);
}

}  // namespace

VerifyTexts::VerifyTexts(const Dialect& dialect)
    : held_rows(dialect, of_nobody("semel_held")),
      dead_letters(dialect, of_nobody("semel_dead_letter")),
      inbox(dialect, of_nobody("semel_inbox")),
      held_missing(dialect, some(fmt::format("SELECT coalesce(r.message_key, r.id) FROM {} r "
                                             "WHERE r.state <> 'completed' AND r.held IS NOT NULL "
                                             "AND NOT EXISTS (SELECT 1 FROM semel_held h "
                                             "WHERE h.row_id = r.held)",
                                             dialect.open_records()))),
      held_shared(dialect, some(fmt::format("SELECT held FROM {} WHERE state <> 'completed' "
                                            "AND held IS NOT NULL GROUP BY held "
                                            "HAVING count(*) > 1",
                                            dialect.open_records()))),
      // A join, which every database does in one pass: records have no index of their rows.
      held_lost(dialect, some(fmt::format("SELECT h.row_id FROM semel_held h LEFT JOIN {} r "
                                          "ON r.held = h.row_id AND r.state <> 'completed' "
                                          "WHERE h.due_at = ?1 AND r.id IS NULL",
                                          dialect.open_records()))),
      held_stuck(dialect, some("SELECT it.row_id FROM semel_held it WHERE it.due_at = ?1 "
                               "AND NOT EXISTS (SELECT 1 FROM semel_held other "
                               "WHERE other.consumer = it.consumer AND other.line = it.line "
                               "AND other.place < it.place)")),
      place_twice(dialect, some("SELECT max(row_id) FROM semel_held WHERE line IS NOT NULL "
                                "GROUP BY consumer, line, place HAVING count(*) > 1")),
      open_inbox_missing(dialect,
                         some(fmt::format("SELECT coalesce(r.message_key, r.id) FROM {} r "
                                          "WHERE r.state <> 'completed' AND r.inbox IS NOT NULL "
                                          "AND NOT EXISTS (SELECT 1 FROM semel_inbox i "
                                          "WHERE i.row_id = r.inbox)",
                                          dialect.open_records()))),
      held_inbox_missing(dialect, some("SELECT h.row_id FROM semel_held h "
                                       "WHERE h.inbox IS NOT NULL AND NOT EXISTS "
                                       "(SELECT 1 FROM semel_inbox i WHERE i.row_id = h.inbox)")) {}

std::vector<StoreFinding> verify_in(Access& access, const VerifyTexts& texts,
                                    const VerifyWords& words) {
  return StoreLook(access, texts, words).found();
}

}  // namespace semel::sql
