// Answer: the database's answer to one statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/spi/lease.h>

namespace semel::sql {

// One column of one row. Times are milliseconds since 1970, rounded down.
struct Cell {
  bool null = true;
  std::int64_t number = 0;
  Bytes bytes;
};

// Read row by row: `while (answer.next()) … answer.integer(0)`. Columns count from 0.
class Answer {
 public:
  Answer(std::vector<Cell> cells, std::size_t columns, std::size_t changed)
      : cells_(std::move(cells)), columns_(columns), changed_(changed) {}

  // Moves to the next row; false where there is none.
  bool next() noexcept {
    at_ = begun_ ? at_ + columns_ : 0;
    begun_ = true;
    return at_ < cells_.size();
  }
  // Rows that the statement changed, or that a SELECT returned.
  std::size_t changed() const noexcept { return changed_; }

  std::size_t columns() const noexcept { return columns_; }

  bool null(std::size_t column) const { return cell(column).null; }
  std::int64_t integer(std::size_t column) const { return cell(column).number; }
  int small(std::size_t column) const { return static_cast<int>(integer(column)); }
  bool boolean(std::size_t column) const { return integer(column) != 0; }
  StoreTime time(std::size_t column) const {
    return StoreTime(std::chrono::milliseconds(integer(column)));
  }
  ConsumerNumber consumer(std::size_t column) const {
    return static_cast<ConsumerNumber>(integer(column));
  }
  const Bytes& bytes(std::size_t column) const { return cell(column).bytes; }
  std::optional<std::int64_t> maybe_integer(std::size_t column) const {
    return null(column) ? std::nullopt : std::optional(integer(column));
  }
  std::optional<StoreTime> maybe_time(std::size_t column) const {
    return null(column) ? std::nullopt : std::optional(time(column));
  }
  std::optional<Bytes> maybe_bytes(std::size_t column) const {
    return null(column) ? std::nullopt : std::optional(bytes(column));
  }
  // Zero where the column has another length.
  KeyId key_id(std::size_t column) const { return fixed<KeyId>(column); }
  Fingerprint fingerprint(std::size_t column) const { return fixed<Fingerprint>(column); }
  Nonce nonce(std::size_t column) const { return fixed<Nonce>(column); }

 private:
  const Cell& cell(std::size_t column) const { return cells_.at(at_ + column); }
  template <class T>
  T fixed(std::size_t column) const {
    T value;
    const BytesView from = bytes(column);
    if (from.size() == value.bytes.size()) {
      from.copy(reinterpret_cast<char*>(value.bytes.data()), from.size());
    }
    return value;
  }

  std::vector<Cell> cells_;  // row after row
  std::size_t columns_;
  std::size_t changed_;
  std::size_t at_ = 0;
  bool begun_ = false;
};

}  // namespace semel::sql
