#include "stores/sqlite/reservations.h"

#include "stores/sqlite/side_file.h"

namespace semel::sqlite {
namespace {

class ReservedByte final : public Positions::Reservation {
 public:
  explicit ReservedByte(const std::string& side_file) : file_(side_file) {}
  bool take(std::int64_t byte) { return file_.try_lock(byte); }

 private:
  SideFile file_;
};

}  // namespace

std::unique_ptr<Positions::Reservation> FileReservations::try_take(std::uint64_t name) {
  auto reserved = std::make_unique<ReservedByte>(side_file_);
  const auto mask = static_cast<std::uint64_t>(lock_byte::kReservationMask);
  const auto byte = lock_byte::kReservations + static_cast<std::int64_t>(name & mask);
  if (!reserved->take(byte)) return nullptr;
  return reserved;
}

}  // namespace semel::sqlite
