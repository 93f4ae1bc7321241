// HeldTake: one take of due rows, within its transaction.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "stores/sql/held_rows.h"

namespace semel::sql {

class HeldTake {
 public:
  struct Wanted {
    ConsumerNumber consumer{};
    std::size_t max_messages = 0;
    std::size_t max_bytes = 0;
    std::int64_t instance = 0;
    StoreTime now{};
    StoreTime until{};
  };
  struct Taken {
    std::vector<Arrival> rows;
    bool more = false;  // it looked at the most rows that one transaction may, and others are due
  };
  HeldTake(HeldRows& held, const Wanted& wanted) : held_(held), wanted_(wanted) {}

  // nullopt where a row is in a line and the consumer is not locked: begin again with that lock.
  std::optional<Taken> run(const LineOf& line_of);

 private:
  struct Looked {
    Arrival arrival;
    bool fresh = false;      // was in no line before
    bool by_others = false;  // another session has locked it
  };
  // The rows of one look, in its order.
  struct Look {
    std::vector<Looked> rows;
    bool all = true;  // nothing else was due
  };
  bool full() const { return taken_.size() >= wanted_.max_messages || bytes_ >= wanted_.max_bytes; }
  std::size_t look_size(bool in_lines) const;
  std::optional<Look> look(std::size_t most, bool in_lines);
  Look in_order(std::span<const RowTag> numbers, std::vector<Arrival> locked);
  void find_lines(std::vector<Looked>& rows, const LineOf& line_of);
  void look_at(Looked row);
  void look_in_line(Arrival arrival);
  void join(Arrival arrival);
  void take(Arrival arrival, Line* line);
  void add(Arrival arrival);
  // Queues the decided changes: each kind in as few statements as possible.
  void write();

  HeldRows& held_;
  const Wanted wanted_;
  Lines lines_;                           // of the rows looked at
  std::set<Bytes, std::less<>> stopped_;  // lines with a row that another session has locked
  bool left_ = false;                     // the last look left due rows
  std::vector<Arrival> taken_;
  std::size_t bytes_ = 0;
  // Not written yet.
  std::vector<Joining> joining_behind_;
  std::vector<Joining> joining_taken_;
  std::vector<RowTag> taking_;
  std::vector<RowTag> putting_behind_;
};

}  // namespace semel::sql
