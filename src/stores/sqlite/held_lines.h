// HeldLines: the order of held rows within their lines.
//
// Only the first row of a line is due; the next ones become visible when it is removed. After a
// process takes a row, the same process may take the rows behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/delivery.h>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

// Never due: kept for a person, and not counted as waiting.
inline constexpr StoreTime kNever{
    std::chrono::milliseconds(std::numeric_limits<std::int64_t>::max())};
// Due when the rows before it in its line are gone.
inline constexpr StoreTime kBehind{kNever - std::chrono::milliseconds(1)};

class HeldLines {
 public:
  explicit HeldLines(Connection& connection);

  // Puts a row that is in no line at the end of this one.
  void join(RowTag row, ConsumerNumber consumer, BytesView line);
  // True where this process may not have the row yet: it does not hold all rows before it.
  bool waits(RowTag row, std::int64_t instance, StoreTime now);
  void put_behind(RowTag row);
  // Rows of the line were removed: makes its first row visible.
  void move_up(ConsumerNumber consumer, BytesView line);
  // Rows directly behind this one that wait for nothing else, in order.
  std::vector<RowTag> behind(RowTag row, std::size_t most);

  // Payload bytes in the line; nullopt: it is empty.
  std::optional<std::size_t> bytes(ConsumerNumber consumer, BytesView line);
  std::vector<Bytes> all(ConsumerNumber consumer);

 private:
  Prepared join_;
  Prepared waits_;
  Prepared put_behind_;
  Prepared move_up_;
  Prepared behind_;
  Prepared bytes_;
  Prepared all_;
};

}  // namespace semel::sqlite
