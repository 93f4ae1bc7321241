// Positions over their table, and over locks that end with their holder.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/spi/run_markers.h>

#include "stores/sql/database.h"

namespace semel::sql {

// Locks that end with their holder's connection, or its process. Thread-safe.
class Reservations {
 public:
  virtual ~Reservations() = default;
  // `name`: a digest's bits. Null where it is taken, even by this process. Throws Failure.
  virtual std::unique_ptr<Positions::Reservation> try_take(std::uint64_t name) = 0;
  // True once this process has lost it: its lock went with a connection, and another process took
  // it first.
  virtual bool lost(std::uint64_t /*name*/) { return false; }
};

// Both outlive the port.
std::unique_ptr<Positions> make_positions(Database& database, Reservations& reservations);

}  // namespace semel::sql
