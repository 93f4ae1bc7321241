#include "stores/sql/positions.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/digest.h"

namespace semel::sql {
namespace {

std::uint64_t reservation_name(ConsumerNumber consumer, std::string_view partition) {
  const std::string number = std::to_string(static_cast<std::uint32_t>(consumer));
  const std::array<BytesView, 2> parts = {number, partition};
  const digest::Short bits = digest::shortened(digest::sha256_parts("semel.reservation", parts));
  std::uint64_t low = 0;
  for (std::size_t i = 0; i < sizeof low; ++i) low = low << 8U | bits[i];
  return low;
}

[[noreturn]] void fail_for_another(std::string_view partition) {
  fail({ErrorKind::kBlocked, "R230",
        fmt::format("another process, or another part of this one, already reads \"{}\" for "
                    "this consumer",
                    partition),
        "one consumer of this name and file at a time"});
}

class TablePositions final : public Positions {
 public:
  TablePositions(Database& database, Reservations& reservations)
      : database_(database), reservations_(reservations) {}

  Result<std::optional<Bytes>> load(ConsumerNumber consumer, std::string_view partition) override {
    return contained([&] {
      return database_.glance(
          [&](Access& access) { return access.tables().positions.load(consumer, partition); });
    });
  }

  Result<void> save(ConsumerNumber consumer, std::string_view partition,
                    BytesView position) override {
    return contained([&] {
      if (reservations_.lost(reservation_name(consumer, partition))) fail_for_another(partition);
      database_.change(Sync::kProcessCrash, [&](Access& access) {
        access.tables().positions.save(consumer, partition, position, access.now());
      });
    });
  }

  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                               std::string_view partition) override {
    return contained([&] {
      auto taken = reservations_.try_take(reservation_name(consumer, partition));
      if (!taken) fail_for_another(partition);
      return taken;
    });
  }

 private:
  Database& database_;
  Reservations& reservations_;
};

}  // namespace

std::unique_ptr<Positions> make_positions(Database& database, Reservations& reservations) {
  return std::make_unique<TablePositions>(database, reservations);
}

}  // namespace semel::sql
