#include "stores/sql/positions.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/digest.h"

namespace semel::sql {
namespace {

std::int64_t reservation_number(ConsumerNumber consumer, std::string_view partition) {
  const std::string number = std::to_string(static_cast<std::uint32_t>(consumer));
  const std::array<BytesView, 2> parts = {number, partition};
  const digest::Short bits = digest::shortened(digest::sha256_parts("semel.reservation", parts));
  std::uint64_t low = 0;
  for (std::size_t i = 0; i < sizeof low; ++i) low = low << 8U | bits[i];
  return static_cast<std::int64_t>(low >> 1U);
}

class ServerPositions final : public Positions {
 public:
  ServerPositions(Pool& pool, const PositionTexts& texts, Reservations& reservations)
      : pool_(pool), texts_(texts), reservations_(reservations) {}

  Result<std::optional<Bytes>> load(ConsumerNumber consumer, std::string_view partition) override {
    return contained([&]() -> std::optional<Bytes> {
      Lent lent(pool_);
      Answer answer = lent->ask(texts_.load, {consumer, partition});
      if (!answer.next()) return std::nullopt;
      return answer.bytes(0);
    });
  }

  Result<void> save(ConsumerNumber consumer, std::string_view partition,
                    BytesView position) override {
    return contained([&] {
      Lent lent(pool_);
      lent->ask(texts_.save, {consumer, partition, position, lent->now()});
    });
  }

  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                               std::string_view partition) override {
    return contained([&] {
      auto taken = reservations_.try_take(reservation_number(consumer, partition));
      if (!taken) {
        fail({ErrorKind::kBlocked, "R230",
              fmt::format("another process, or another part of this one, already reads \"{}\" for "
                          "this consumer",
                          partition),
              "one consumer of this name and file at a time"});
      }
      return taken;
    });
  }

 private:
  Pool& pool_;
  const PositionTexts& texts_;
  Reservations& reservations_;
};

}  // namespace

PositionTexts::PositionTexts(const Dialect& dialect)
    : load(dialect,
           "SELECT source_position FROM semel_position "
           "WHERE consumer = ?1 AND source_partition = ?2"),
      save(dialect,
           "INSERT INTO semel_position (consumer, source_partition, source_position, saved_at) "
           "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (consumer, source_partition) DO UPDATE SET "
           "source_position = excluded.source_position, saved_at = excluded.saved_at") {}

std::unique_ptr<Positions> make_positions(Pool& pool, const PositionTexts& texts,
                                          Reservations& reservations) {
  return std::make_unique<ServerPositions>(pool, texts, reservations);
}

}  // namespace semel::sql
