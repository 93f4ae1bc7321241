#include "stores/sql/held_lines.h"

#include <gtest/gtest.h>

#include <semel/spi/record_machine.h>

#include "stores/sql/held_rows.h"
#include "stores/sql/many.h"

namespace semel::sql {
namespace {

using namespace std::chrono_literals;

constexpr StoreTime kNow{1'000'000ms};

TEST(After, NoDelayIsSoLongThatARowWouldNeverShow) {
  EXPECT_EQ(spi::due_after(kNow, 5ms), kNow + 5ms);
  EXPECT_EQ(spi::due_after(kNow, 0ms), kNow);
  EXPECT_EQ(spi::due_after(kNow, -5ms), kNow);
  EXPECT_EQ(spi::due_after(kNow, std::chrono::milliseconds::max()), kBehind - 1ms);
  EXPECT_EQ(spi::due_when_sent(kNow, 5ms), kNow + 5ms);
  EXPECT_EQ(spi::due_when_sent(kNow, 0ms), StoreTime{});
  EXPECT_EQ(spi::due_when_sent(kNow, -5ms), StoreTime{});
  EXPECT_EQ(spi::due_after(kNow, kBehind - kNow), kBehind - 1ms);
  EXPECT_LT(kBehind, kNever);
}

TEST(Seat, IsBehindTheLastAndNeverBeforeAnOlderRow) {
  const Seat alone = seat_behind(nullptr, RowTag{7}, 100);
  EXPECT_EQ(alone.place, 7);
  EXPECT_EQ(alone.bytes, 100);
  LineEnd end;
  end.row = RowTag{7};
  end.seat = alone;
  end.size = 100;
  Line line{end, end};
  EXPECT_EQ(line.bytes(), 100U);
  const Seat older = seat_behind(&line, RowTag{3}, 50);
  EXPECT_EQ(older.place, 8) << "behind what is there, whatever its number";
  EXPECT_EQ(older.bytes, 150);
  line.last = {RowTag{3}, older, 50, std::nullopt, kBehind};
  EXPECT_EQ(line.bytes(), 150U);
  EXPECT_EQ(seat_behind(&line, RowTag{20}, 1).place, 20);
  // Once the first row is gone, the bytes count from the new first row.
  line.first = line.last;
  EXPECT_EQ(line.bytes(), 50U);
}

TEST(Line, NotesWhoHasItsEnds) {
  LineEnd end;
  end.row = RowTag{7};
  Line line{end, end};
  line.note(RowTag{8}, 1, kNow + 1s);
  EXPECT_FALSE(line.first.in_hand(1, kNow));
  line.note(RowTag{7}, 1, kNow + 1s);
  EXPECT_TRUE(line.first.in_hand(1, kNow));
  EXPECT_TRUE(line.last.in_hand(1, kNow));
  EXPECT_FALSE(line.last.in_hand(2, kNow));
  EXPECT_FALSE(line.last.in_hand(1, kNow + 1s)) << "its time is over";
}

TEST(Many, OneTextSaysThemAll) {
  const std::string all = list();
  EXPECT_EQ(all.substr(0, 8), "(?1, ?2,");
  EXPECT_EQ(all.substr(all.rfind('?')), "?" + std::to_string(kMany) + ")");
  EXPECT_EQ(kAfterMany, "?" + std::to_string(kMany + 1));
  const std::vector<int> values(2 * kMany + 1);
  std::vector<std::size_t> parts;
  in_parts(std::span<const int>(values), [&](auto part) { parts.push_back(part.size()); });
  EXPECT_EQ(parts, (std::vector<std::size_t>{kMany, kMany, 1}));
}

}  // namespace
}  // namespace semel::sql
