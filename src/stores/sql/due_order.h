// DueOrder: the order of due rows.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/record_machine.h>

namespace semel::sql {

// The earliest due time of a row that is not due at once.
inline constexpr StoreTime kFirstTimed = spi::kDueAtOnce + std::chrono::milliseconds(1);

// An index has the rows that are due at once before all others. Here they are among the others
// since they were sent, and by their numbers where that is the same: else a long queue would keep
// back all retries.
template <class Row>
class DueOrder {
 public:
  // In the order of the index.
  void add(Row row, RowTag number, StoreTime due, StoreTime sent) {
    if (due < kFirstTimed) {
      at_once_.push_back({std::move(row), {sent, number}});
    } else {
      timed_.push_back({std::move(row), {due, number}});
    }
  }
  // Where the first rows of the index were not all that are due: the others are added anew.
  void forget_timed() { timed_.clear(); }

  std::vector<Row> first(std::size_t most) && {
    std::vector<Row> rows;
    auto at_once = at_once_.begin();
    auto timed = timed_.begin();
    while (rows.size() < most) {
      if (timed != timed_.end() && (at_once == at_once_.end() || timed->since < at_once->since)) {
        rows.push_back(std::move(timed++->row));
      } else if (at_once != at_once_.end()) {
        rows.push_back(std::move(at_once++->row));
      } else {
        break;
      }
    }
    return rows;
  }

 private:
  struct Waiting {
    Row row;
    std::pair<StoreTime, RowTag> since;
  };
  std::vector<Waiting> at_once_, timed_;
};

}  // namespace semel::sql
