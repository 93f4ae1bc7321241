// Positions over their table, and over locks that end with whoever holds them.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/spi/run_markers.h>

#include "stores/sql/database.h"

namespace semel::sql {

// Locks that end with their holder's connection, or its process. Any thread.
class Reservations {
 public:
  virtual ~Reservations() = default;
  // `name`: a digest's bits. Null where it is taken, also by this process. Throws Failure.
  virtual std::unique_ptr<Positions::Reservation> try_take(std::uint64_t name) = 0;
  // True where this process has it no more: its lock went with a connection, and another process
  // was quicker to take it.
  virtual bool lost(std::uint64_t /*name*/) { return false; }
};

// Both outlive the port.
std::unique_ptr<Positions> make_positions(Database& database, Reservations& reservations);

}  // namespace semel::sql
