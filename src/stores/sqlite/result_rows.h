// ResultRows: the table of results of completed records that are in no inbox.
#pragma once

#include <cstdint>

#include <semel/bytes.h>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

class ResultRows {
 public:
  explicit ResultRows(Connection& connection);

  std::int64_t add(BytesView result);
  // Empty where there is no such row.
  Bytes find(std::int64_t row);
  void remove(std::int64_t row);

 private:
  Prepared add_;
  Prepared find_;
  Prepared remove_;
};

}  // namespace semel::sqlite
