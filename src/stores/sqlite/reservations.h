// Reservations by bytes of the file next to the database.
#pragma once

#include <string>
#include <utility>

#include "stores/sql/positions.h"

namespace semel::sqlite {

class FileReservations final : public sql::Reservations {
 public:
  explicit FileReservations(std::string side_file) : side_file_(std::move(side_file)) {}

  std::unique_ptr<Positions::Reservation> try_take(std::uint64_t name) override;

 private:
  const std::string side_file_;
};

}  // namespace semel::sqlite
