// HeldPlans: a server's query plans for all statements about held rows, and for the statistics
// about them and about dead letters. For tests.
//
//   HeldPlans plans(session, dialect, "EXPLAIN ");
//   plans.fill(texts);
//   for (const auto& [statement, plan] : plans.all(texts)) …
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stores/sql/dead_letter_rows.h"
#include "stores/sql/held_rows.h"
#include "stores/sql/many.h"
#include "stores/sql/tables.h"

namespace semel::sql {

class HeldPlans {
 public:
  // `words` are put before a statement to ask for its plan.
  HeldPlans(Session& session, const Dialect& dialect, std::string words)
      : session_(session), dialect_(dialect), words_(std::move(words)) {}

  // Rows of two consumers: most in no line, some in a few lines, some taken.
  void fill(const HeldTexts& texts) {
    NoWakeUps wake_ups;
    session_.begin(std::chrono::seconds(5));
    HeldRows held(session_, texts, wake_ups);
    now_ = session_.now();
    for (int i = 0; i < kRows; ++i) {
      HeldContent content;
      content.consumer = i % 10 == 0 ? kOther : kConsumer;
      content.due = now_;
      content.payload = "payload";
      const Bytes line = "line " + std::to_string(i % 5);
      if (i % 8 == 0) content.line = line;
      const RowTag row{held.add(content, now_)};
      if (content.line && content.consumer == kConsumer) rows_.push_back(row);
    }
    rows_.resize(kMany);
    held.take(std::span<const RowTag>(rows_).first(kMany / 2), kInstance, until());
    session_.commit();
  }

  // Dead letters of two consumers.
  void fill_letters(const DeadLetterTexts& texts) {
    session_.begin(std::chrono::seconds(5));
    DeadLetterRows letters(session_, texts);
    for (int i = 0; i < kRows; ++i) {
      const Bytes key = "key " + std::to_string(i);
      HeldContent content;
      content.consumer = i % 10 == 0 ? kOther : kConsumer;
      content.key = key;
      content.payload = "payload";
      letters.keep(content, std::nullopt, Finish(), session_.now(), session_.now());
    }
    session_.commit();
  }

  // The same for the statements of the statistics.
  std::map<std::string, std::string> statistics(const TableTexts& texts) {
    one("backlog", texts.held.backlog, kConsumer, kNever);
    one("letters.count", texts.dead_letters.count, kConsumer);
    one("letters.times", texts.dead_letters.times, kConsumer);
    return std::move(plans_);
  }

  // The plan of each statement that reads rows, by the name of the statement.
  std::map<std::string, std::string> all(const HeldTexts& texts) {
    looks(texts);
    changes(texts);
    lines(texts.lines);
    return std::move(plans_);
  }

  // Rows of one long line, all of them due.
  std::vector<RowTag> fill_line(const HeldTexts& texts, std::size_t count) {
    NoWakeUps wake_ups;
    session_.begin(std::chrono::seconds(5));
    HeldRows held(session_, texts, wake_ups);
    now_ = session_.now();
    std::vector<RowTag> rows;
    for (std::size_t i = 0; i < count; ++i) {
      HeldContent content;
      content.consumer = kConsumer;
      content.due = now_;
      content.payload = "payload";
      content.line = line_;
      rows.push_back(RowTag{held.add(content, now_)});
    }
    session_.commit();
    return rows;
  }
  // Removes them as a finish does.
  void take_out(const HeldTexts& texts, std::span<const RowTag> rows) {
    NoWakeUps wake_ups;
    session_.begin(std::chrono::seconds(5));
    HeldRows(session_, texts, wake_ups).take_out(rows);
    session_.commit();
  }

 private:
  static constexpr ConsumerNumber kConsumer{1};
  static constexpr ConsumerNumber kOther{2};
  static constexpr std::int64_t kInstance = 7;
  static constexpr int kRows = 2'000;

  class NoWakeUps final : public WakeUps {
   public:
    int fd(std::optional<ConsumerNumber>) noexcept override { return -1; }
    void drain(ConsumerNumber) override {}
    void ring(Session&, ConsumerNumber) override {}
  };

  StoreTime until() const { return now_ + std::chrono::minutes(10); }

  void looks(const HeldTexts& texts) {
    const RowTag row = rows_.back();
    one("due", texts.due, kConsumer, now_, 10, spi::kDueAtOnce, now_);
    one("due_numbers", texts.due_numbers, kConsumer, now_, 10, spi::kDueAtOnce, now_);
    one("any_due", texts.any_due, kConsumer, now_);
    one("behind", texts.behind, kConsumer, line_, row, 10);
    one("taken", texts.taken, kConsumer, kInstance, until());
    one("taken_from", texts.taken_from, kConsumer, kBehind, kInstance);
    one("peek", texts.peek, kConsumer, kNever);
    one("depth", texts.depth, kConsumer, kNever);
    one("backlog", texts.backlog, kConsumer, kNever);
    one("find", texts.find, row);
    one("payload", texts.payload, row);
    one("inbox", texts.inbox, row);
    one("parked_in_lines", texts.parked_in_lines, kConsumer, kNever);
    one("there", texts.there, row);
    many("free", texts.free);
    many("whose", texts.whose);
    many("lined", texts.lined);
  }

  void changes(const HeldTexts& texts) {
    const RowTag row = rows_.back();
    one("release", texts.release, row);
    one("release_later", texts.release_later, row, until());
    one("hide", texts.hide, row, until(), now_);
    one("move", texts.move, row, RowTag{1'000'000}, until(), 1, now_, std::optional<BytesView>(),
        std::optional<Fingerprint>(), false, true);
    one("park", texts.park, row, kNever);
    many("take", texts.take, kInstance, until());
    many("show", texts.show, kInstance, now_);
    many("remove", texts.remove);
  }

  void lines(const LineTexts& texts) {
    one("lines.waits", texts.waits, kConsumer, line_, rows_.back());
    one("lines.all", texts.all, kConsumer);
    many("lines.put_behind", texts.put_behind, kBehind);
    many("lines.show_first", texts.show_first, kBehind);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      one("lines.ends", texts.ends, kConsumer, (static_cast<void>(I), line_)...);
    }
    (std::make_index_sequence<kLinesAtOnce>());
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      one("lines.join", texts.join, rows_[I]..., (static_cast<void>(I), line_)...,
          (static_cast<void>(I), 1)..., (static_cast<void>(I), 1)..., std::optional<std::int64_t>(),
          kBehind);
    }
    (std::make_index_sequence<kMany>());
  }

  template <class... Value>
  void one(const char* name, const SqlText& text, const Value&... values) {
    keep(name, session_.ask(asking(text), {Param(values)...}));
  }
  // For a statement about all rows together.
  template <class... More>
  void many(const char* name, const SqlText& text, const More&... more) {
    keep(name, ask_many(session_, asking(text), std::span<const RowTag>(rows_), more...));
  }
  const SqlText& asking(const SqlText& text) {
    return texts_.emplace_back(dialect_, words_ + text.sql());
  }
  void keep(const char* name, Answer answer) {
    std::string& plan = plans_[name];
    while (answer.next()) plan += answer.bytes(0) + '\n';
  }

  Session& session_;
  const Dialect& dialect_;
  const std::string words_;
  StoreTime now_{};
  const Bytes line_ = "line 1";
  std::vector<RowTag> rows_;
  std::deque<SqlText> texts_;
  std::map<std::string, std::string> plans_;
};

}  // namespace semel::sql
