// Reads held rows as arrivals.
#pragma once

#include <cstddef>
#include <string>

#include <semel/admin/records.h>
#include <semel/spi/delivery.h>

#include "stores/sql/answer.h"

namespace semel::sql {

// The columns that a SELECT needs for `arrival_at`. Larger payloads are left out: they are read one
// by one, and only if they are wanted.
std::string arrival_columns();
// The first column after them.
inline constexpr std::size_t kAfterArrival = 16;

struct FoundArrival {
  Arrival arrival;
  std::size_t size = 0;  // of its payload
  bool whole = true;     // else its payload is not read yet
};
FoundArrival arrival_at(const Answer& row, StoreTime now);

}  // namespace semel::sql
