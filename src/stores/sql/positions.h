// Positions over their table, and over locks that a session holds.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/run_markers.h>

#include "stores/sql/pool.h"

namespace semel::sql {

// Locks of the server's that end with their holder's connection. Any thread.
class Reservations {
 public:
  virtual ~Reservations() = default;
  // `number`: zero or more. Null where it is taken, also by this process. Throws Failure.
  virtual std::unique_ptr<Positions::Reservation> try_take(std::int64_t number) = 0;
};

struct PositionTexts {
  explicit PositionTexts(const Dialect& dialect);
  Text load, save;
};

// All of it outlives the port.
std::unique_ptr<Positions> make_positions(Pool& pool, const PositionTexts& texts,
                                          Reservations& reservations);

}  // namespace semel::sql
