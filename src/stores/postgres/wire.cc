#include "stores/postgres/wire.h"

#include <libpq-fe.h>
#include <charconv>
#include <cstring>
#include <utility>

namespace semel::postgres {
namespace {

constexpr std::int64_t kMicrosInMilli = 1000;
// From 1970 to 2000, the server's epoch.
constexpr std::int64_t kEpochMicros = 946'684'800'000'000;

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  unsigned shift = sizeof value * 8;
  for (char& byte : bytes) {
    shift -= 8;
    byte = static_cast<char>(static_cast<std::uint64_t>(value) >> shift);
  }
  out.append(bytes, sizeof bytes);
}

template <class T>
void put_at(std::string& out, std::size_t at, T value) {
  std::string bytes;
  put(bytes, value);
  out.replace(at, bytes.size(), bytes);
}

std::int64_t integer_at(const char* bytes, int length) noexcept {
  std::uint64_t value = length > 0 && (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0
                            ? ~std::uint64_t{0}
                            : std::uint64_t{0};
  for (int i = 0; i < length; ++i) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(value);
}

std::int64_t millis_of(std::int64_t micros) noexcept {
  const std::int64_t since_1970 = micros + kEpochMicros;
  const std::int64_t rounded = since_1970 / kMicrosInMilli;
  return since_1970 % kMicrosInMilli < 0 ? rounded - 1 : rounded;
}

std::size_t changed_by(const PGresult* result) {
  const char* const text = PQcmdTuples(const_cast<PGresult*>(result));
  std::size_t changed = 0;
  std::from_chars(text, text + std::strlen(text), changed);
  return changed;
}

constexpr std::size_t kCountAt = 12;
constexpr std::size_t kNullsAt = 4;

}  // namespace

ArrayParam::ArrayParam(Oid element) : element_(element) {
  put(wire_, std::int32_t{1});  // dimensions
  put(wire_, std::int32_t{0});  // whether any is NULL
  put(wire_, static_cast<std::int32_t>(element));
  put(wire_, std::int32_t{0});  // number of elements
  put(wire_, std::int32_t{1});  // index of the first one
}

void ArrayParam::add(BytesView bytes) {
  ++count_;
  put(wire_, static_cast<std::int32_t>(bytes.size()));
  wire_.append(bytes);
}

void ArrayParam::add(std::int64_t number) {
  ++count_;
  put(wire_, std::int32_t{sizeof number});
  put(wire_, number);
}

void ArrayParam::add_null() {
  ++count_;
  nulls_ = true;
  put(wire_, std::int32_t{-1});
}

BytesView ArrayParam::wire() {
  put_at(wire_, kCountAt, count_);
  put_at(wire_, kNullsAt, std::int32_t{nulls_ ? 1 : 0});
  return wire_;
}

const char* WireParams::keep(std::string bytes) {
  return kept_.emplace_back(std::move(bytes)).data();
}

void WireParams::clear() noexcept {
  kept_.clear();
  types_.clear();
  values_.clear();
  lengths_.clear();
  formats_.clear();
}

void WireParams::push(Oid type, const char* value, std::size_t length, bool binary) {
  types_.push_back(type);
  values_.push_back(value);
  lengths_.push_back(static_cast<int>(length));
  formats_.push_back(binary ? 1 : 0);
}

void WireParams::add(const sql::Param& param) {
  static constexpr const char* kNothing = "";
  const BytesView bytes = param.bytes();
  const char* const data = bytes.data() != nullptr ? bytes.data() : kNothing;
  std::string number;
  switch (param.type()) {
    case sql::Param::Type::kInteger:
      put(number, param.number());
      return push(oid::kInt8, param.null() ? nullptr : keep(std::move(number)),
                  sizeof(std::int64_t), true);
    case sql::Param::Type::kBoolean:
      number += static_cast<char>(param.number());
      return push(oid::kBool, param.null() ? nullptr : keep(std::move(number)), 1, true);
    case sql::Param::Type::kTime:
      put(number, param.number() * kMicrosInMilli - kEpochMicros);
      return push(oid::kTimestamptz, param.null() ? nullptr : keep(std::move(number)),
                  sizeof(std::int64_t), true);
    case sql::Param::Type::kBytes:
    case sql::Param::Type::kBinary:
      return push(oid::kBytea, param.null() ? nullptr : data, bytes.size(), true);
    case sql::Param::Type::kWord:
      return push(oid::kText, param.null() ? nullptr : data, bytes.size(), true);
  }
}

void WireParams::add(ArrayParam& array) {
  const BytesView wire = array.wire();
  push(array.type(), wire.data(), wire.size(), true);
}

void WireParams::add_integer(std::int64_t value) { add(sql::Param(value)); }
void WireParams::add_literal(const char* text) { push(oid::kInferred, text, 0, false); }
void WireParams::add_kept_literal(std::string text) { add_literal(keep(std::move(text))); }
void WireParams::add_null() { push(oid::kInferred, nullptr, 0, false); }
void WireParams::add_bytes(BytesView bytes) { add(sql::Param(bytes)); }

sql::Cell cell_of(const PGresult* result, int row, int column) {
  sql::Cell cell;
  if (PQgetisnull(result, row, column) != 0) return cell;
  cell.null = false;
  const char* const value = PQgetvalue(result, row, column);
  const int length = PQgetlength(result, row, column);
  switch (PQftype(result, column)) {
    case oid::kInt8:
    case oid::kInt4:
    case oid::kInt2:
    case oid::kBool:
      cell.number = integer_at(value, length);
      break;
    case oid::kTimestamptz:
      cell.number = millis_of(integer_at(value, length));
      break;
    default:
      cell.bytes.assign(value, static_cast<std::size_t>(length));
  }
  return cell;
}

sql::Answer answer_of(const PGresult* result) {
  const int rows = PQntuples(result);
  const int columns = PQnfields(result);
  std::vector<sql::Cell> cells;
  cells.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) cells.push_back(cell_of(result, row, column));
  }
  return {std::move(cells), static_cast<std::size_t>(columns), changed_by(result)};
}

}  // namespace semel::postgres
