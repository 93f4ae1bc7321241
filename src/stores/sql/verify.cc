#include "stores/sql/verify.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"

namespace semel::sql {
namespace {

// Rows told of each kind of finding; the rest is counted, up to the number that a text asks for.
constexpr std::size_t kTold = 10;
constexpr std::size_t kAsked = 1000;

std::string some(std::string_view sql) { return fmt::format("{} LIMIT {}", sql, kAsked); }

class StoreLook {
 public:
  StoreLook(Tables& tables, Session& session, const VerifyTexts& texts)
      : tables_(tables), session_(session), texts_(texts) {}

  std::vector<StoreFinding> found(bool full) {
    consumers();
    payloads();
    each(true, "record.twice", "semel_record", texts_.open_twice,
         "stands in another generation too");
    if (full) records();
    return std::move(findings_);
  }

 private:
  void add(bool wrong, std::string what, std::string where, std::string detail) {
    findings_.push_back({wrong, std::move(what), std::move(where), std::move(detail)});
  }

  // Each row of `text` is a finding: its first column says where.
  void each(bool wrong, const std::string& what, std::string_view table, const Text& text,
            const std::string& detail, std::initializer_list<Param> params = {}) {
    Answer rows = session_.ask(text, params);
    std::size_t seen = 0;
    while (rows.next()) {
      if (seen++ < kTold) add(wrong, what, place(table, rows), detail);
    }
    if (seen <= kTold) return;
    add(wrong, what, std::string(table),
        fmt::format("{}: {}{} rows in all", detail, seen, seen < kAsked ? "" : " or more"));
  }

  // "semel_record k-1", or the row's id where it has no key, or its number.
  static std::string place(std::string_view table, const Answer& row) {
    const BytesView shown = row.bytes(0);
    if (shown.empty()) return fmt::format("{} {}", table, row.integer(0));
    const bool text = is_utf8(shown) && shown.find('\0') == BytesView::npos;
    return fmt::format("{} {}", table, text ? std::string(shown) : digest::hex(shown));
  }

  void consumers() {
    std::set<ConsumerNumber> known;
    for (const ConsumerRow& row : tables_.consumers.all()) known.insert(row.number);
    for (const RecordCount& count : tables_.records.counts()) {
      if (known.contains(count.consumer)) continue;
      add(true, "consumer.unknown", "semel_record",
          fmt::format("{} records of consumer number {}, which has no name", count.rows,
                      static_cast<std::uint32_t>(count.consumer)));
    }
    nameless("semel_held", texts_.held_rows);
    nameless("semel_dead_letter", texts_.dead_letters);
    nameless("semel_inbox", texts_.inbox);
  }

  void nameless(const char* table, const Text& count) {
    Answer answer = session_.ask(count, {});
    const std::int64_t rows = answer.next() ? answer.integer(0) : 0;
    if (rows == 0) return;
    add(true, "consumer.unknown", table,
        fmt::format("{} rows of a consumer that has no name", rows));
  }

  void payloads() {
    each(true, "record.held_missing", "semel_record", texts_.held_missing,
         "its payload should be held, and is not there: it can not come back by itself");
    each(true, "record.held_shared", "semel_held", texts_.held_shared,
         "held for more than one record");
    each(true, "record.inbox_missing", "semel_record", texts_.open_inbox_missing,
         "its message should be in the inbox, and is not there");
    each(true, "held.inbox_missing", "semel_held", texts_.held_inbox_missing,
         "its message should be in the inbox, and is not there");
    each(true, "held.lost", "semel_held", texts_.held_lost,
         "kept for a person, and no record names it", {kNever});
    each(true, "held.stuck", "semel_held", texts_.held_stuck,
         "waits for what is before it in its line, and nothing is", {kBehind});
    each(true, "held.place_twice", "semel_held", texts_.place_twice,
         "another row has its place in its line");
  }

  void records() {
    each(true, "record.twice", "semel_record", texts_.twice,
         "completed in more than one generation");
    each(true, "record.inbox_missing", "semel_record", texts_.inbox_missing,
         "its message is not in the inbox");
    each(true, "generation.unknown", "semel_record", texts_.generation_unknown,
         "stands in a generation that is not listed: it is never forgotten");
  }

  Tables& tables_;
  Session& session_;
  const VerifyTexts& texts_;
  std::vector<StoreFinding> findings_;
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
      held_lost(dialect, some(fmt::format("SELECT h.row_id FROM semel_held h WHERE h.due_at = ?1 "
                                          "AND NOT EXISTS (SELECT 1 FROM {} r "
                                          "WHERE r.state <> 'completed' AND r.held = h.row_id)",
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
                                       "(SELECT 1 FROM semel_inbox i WHERE i.row_id = h.inbox)")),
      open_twice(dialect, some(fmt::format("SELECT coalesce(it.message_key, it.id) FROM {} it "
                                           "JOIN semel_record other ON other.id = it.id "
                                           "AND other.generation <> it.generation "
                                           "WHERE it.state <> 'completed'",
                                           dialect.open_records()))),
      twice(dialect, some("SELECT it.id FROM semel_record it JOIN semel_record other "
                          "ON other.id = it.id AND other.generation > it.generation "
                          "WHERE it.state = 'completed' AND other.state = 'completed'")),
      inbox_missing(dialect, some("SELECT r.id FROM semel_record r WHERE r.state = 'completed' "
                                  "AND r.inbox IS NOT NULL AND NOT EXISTS "
                                  "(SELECT 1 FROM semel_inbox i WHERE i.row_id = r.inbox)")),
      generation_unknown(dialect, some("SELECT r.id FROM semel_record r WHERE NOT EXISTS "
                                       "(SELECT 1 FROM semel_generation g "
                                       "WHERE g.number = r.generation)")) {}

std::vector<StoreFinding> verify_in(Tables& tables, Session& session, const VerifyTexts& texts,
                                    bool full) {
  return StoreLook(tables, session, texts).found(full);
}

}  // namespace semel::sql
