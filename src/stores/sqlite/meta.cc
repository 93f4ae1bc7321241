#include "stores/sqlite/meta.h"

#include <limits>

#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

constexpr int kEpochShift = 32;
constexpr std::uint64_t kLastToken = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Meta::Meta(Connection& connection)
    : read_(connection,
            "SELECT epoch, token, generations, clock_seen, clock_doubted FROM semel_meta"),
      token_(connection, "UPDATE semel_meta SET token = ?1"),
      epoch_(connection, "UPDATE semel_meta SET epoch = epoch + 1, token = 0"),
      moved_(connection, "UPDATE semel_meta SET generations = generations + 1"),
      clock_(connection, "UPDATE semel_meta SET clock_seen = ?1, clock_doubted = ?2") {}

Meta::Row Meta::read() {
  const Reading reading(read_);
  if (!read_.next()) {
    fail({ErrorKind::kUnavailable, "R202", "the table semel_meta is empty",
          "restore the database from a backup"});
  }
  Row row;
  row.epoch = static_cast<std::uint64_t>(read_.integer(0));
  row.token = static_cast<std::uint64_t>(read_.integer(1));
  row.generations = read_.integer(2);
  row.clock_seen = read_.time(3);
  row.clock_doubted = read_.time(4);
  return row;
}

bool Meta::room_for(const Row& row, std::uint64_t count) noexcept {
  return row.epoch > 0 && row.token + count <= kLastToken;
}

Token Meta::take_tokens(const Row& row, std::uint64_t count) {
  token_.bind(1, static_cast<std::int64_t>(row.token + count)).run();
  return static_cast<Token>((row.epoch << kEpochShift) + row.token + 1);
}

void Meta::raise_epoch() { epoch_.run(); }
void Meta::generations_moved() { moved_.run(); }
void Meta::set_clock(StoreTime seen, StoreTime doubted) {
  clock_.bind(1, seen).bind(2, doubted).run();
}

}  // namespace semel::sqlite
