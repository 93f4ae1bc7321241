// Wire: values in PostgreSQL's binary format.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "stores/postgres/pq.h"
#include "stores/sql/answer.h"
#include "stores/sql/param.h"

namespace semel::postgres {

// The types' numbers never change: src/include/catalog/pg_type.dat of the server.
namespace oid {
inline constexpr Oid kInferred = 0;
inline constexpr Oid kBool = 16;
inline constexpr Oid kBytea = 17;
inline constexpr Oid kInt8 = 20;
inline constexpr Oid kInt2 = 21;
inline constexpr Oid kInt4 = 23;
inline constexpr Oid kText = 25;
inline constexpr Oid kFloat4 = 700;
inline constexpr Oid kFloat8 = 701;
inline constexpr Oid kByteaArray = 1001;
inline constexpr Oid kInt8Array = 1016;
inline constexpr Oid kTimestamptz = 1184;
}  // namespace oid

// An array parameter, element by element.
class ArrayParam {
 public:
  explicit ArrayParam(Oid element);
  void add(BytesView bytes);
  void add(std::int64_t number);
  void add_null();
  BytesView wire();
  Oid type() const noexcept { return element_ == oid::kInt8 ? oid::kInt8Array : oid::kByteaArray; }
  std::size_t size() const noexcept { return count_; }

 private:
  Oid element_;
  std::int32_t count_ = 0;
  bool nulls_ = false;
  std::string wire_;
};

// The parameters of one statement, as libpq takes them. Bytes are borrowed, numbers copied.
class WireParams {
 public:
  void add(const sql::Param& param);
  // `array` is borrowed.
  void add(ArrayParam& array);
  void add_integer(std::int64_t value);
  // Added like a literal: the server infers its type.
  void add_literal(const char* text);
  void add_kept_literal(std::string text);
  void add_null();
  void add_bytes(BytesView bytes);

  // Empties it for another statement, keeping its memory.
  void clear() noexcept;

  int count() const noexcept { return static_cast<int>(values_.size()); }
  const Oid* types() const noexcept { return types_.data(); }
  const char* const* values() const noexcept { return values_.data(); }
  const int* lengths() const noexcept { return lengths_.data(); }
  const int* formats() const noexcept { return formats_.data(); }

 private:
  void push(Oid type, const char* value, std::size_t length, bool binary);
  const char* keep(std::string bytes);

  std::deque<std::string> kept_;
  std::vector<Oid> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

// A binary column of one of the types above, or of an enum.
sql::Cell cell_of(const PGresult* result, int row, int column);
sql::Answer answer_of(const PGresult* result);

}  // namespace semel::postgres
