// HeldTake: one take of due rows, within its transaction.
#pragma once

#include <optional>
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
  HeldTake(HeldRows& held, const Wanted& wanted) : held_(held), wanted_(wanted) {}

  // None where a row stands in a line and the consumer is not locked: to be begun again with it.
  std::optional<std::vector<Arrival>> run(const LineOf& line_of);

 private:
  struct Looked {
    Arrival arrival;
    bool fresh = false;  // was in no line before
  };
  bool full() const { return taken_.size() >= wanted_.max_messages || bytes_ >= wanted_.max_bytes; }
  std::vector<Looked> in_line(std::vector<Arrival> rows, const LineOf& line_of);
  void look_at(Looked row);
  void join(Arrival arrival);
  void take(Arrival arrival, Line* line);
  void add(Arrival arrival);

  HeldRows& held_;
  const Wanted wanted_;
  Lines lines_;  // of what was looked at
  std::vector<Arrival> taken_;
  std::size_t bytes_ = 0;
};

}  // namespace semel::sql
