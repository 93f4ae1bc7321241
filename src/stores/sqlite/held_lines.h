// HeldLines: the order of held rows within their lines.
//
// Only the first row of a line is due; those behind it show when it goes. What is taken by one
// process may be followed by what stands behind it, taken by the same one.
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

// Due never: kept for a person, counted nowhere as waiting.
inline constexpr StoreTime kNever{
    std::chrono::milliseconds(std::numeric_limits<std::int64_t>::max())};
// Due when what stands before it in its line has gone.
inline constexpr StoreTime kBehind{kNever - std::chrono::milliseconds(1)};

class HeldLines {
 public:
  explicit HeldLines(Connection& connection);

  // Puts a row that is in no line at the end of this one.
  void join(RowTag row, ConsumerNumber consumer, BytesView line);
  // True where the row may not be had yet by this process: not all before it is in its hand.
  bool waits(RowTag row, std::int64_t instance, StoreTime now);
  void put_behind(RowTag row);
  // Something of the line has gone: its first row shows.
  void move_up(ConsumerNumber consumer, BytesView line);
  // Rows right behind this one that wait for nothing else, in order.
  std::vector<RowTag> behind(RowTag row, std::size_t most);

  // Payload bytes in the line; none: nothing is in it.
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
