#include "stores/sqlite/prepared.h"

#include <sqlite3.h>

#include <cstring>

#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

// SQLite takes a null pointer for NULL; an empty value is not NULL.
const char* not_null(BytesView bytes) noexcept {
  return bytes.data() == nullptr ? "" : bytes.data();
}

// How many bytes follow a lead byte; -1 where it is none.
int followers(unsigned char lead) noexcept {
  if (lead >= 0xc2 && lead <= 0xdf) return 1;
  if (lead >= 0xe0 && lead <= 0xef) return 2;
  if (lead >= 0xf0 && lead <= 0xf4) return 3;
  return -1;
}

// The second byte rules out overlong forms, surrogates and values past the last code point.
bool second_fits(unsigned char lead, unsigned char second) noexcept {
  switch (lead) {
    case 0xe0:
      return second >= 0xa0 && second <= 0xbf;
    case 0xed:
      return second >= 0x80 && second <= 0x9f;
    case 0xf0:
      return second >= 0x90 && second <= 0xbf;
    case 0xf4:
      return second >= 0x80 && second <= 0x8f;
    default:
      return second >= 0x80 && second <= 0xbf;
  }
}

}  // namespace

bool is_text(BytesView bytes) noexcept {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const end = at + bytes.size();
  while (at < end) {
    std::uint64_t eight = 0;
    if (end - at >= 8) {
      std::memcpy(&eight, at, 8);
      const std::uint64_t high = 0x8080808080808080U;
      const bool has_zero = ((eight - 0x0101010101010101U) & ~eight & high) != 0;
      if ((eight & high) == 0 && !has_zero) {
        at += 8;
        continue;
      }
    }
    if (*at == 0) return false;
    if (*at < 0x80) {
      ++at;
      continue;
    }
    const int more = followers(*at);
    if (more < 0 || end - at <= more || !second_fits(at[0], at[1])) return false;
    for (int i = 2; i <= more; ++i) {
      if ((at[i] & 0xc0U) != 0x80U) return false;
    }
    at += more + 1;
  }
  return true;
}

Prepared::~Prepared() { sqlite3_finalize(statement_); }

sqlite3_stmt* Prepared::ready() {
  if (statement_ == nullptr) statement_ = connection_.prepare(sql_);
  return statement_;
}

void Prepared::check(int code) {
  if (code == SQLITE_OK) [[likely]] {
    return;
  }
  connection_.raise(code);
}

Prepared& Prepared::bind(int at, std::int64_t value) {
  check(sqlite3_bind_int64(ready(), at, value));
  return *this;
}

Prepared& Prepared::bind_null(int at) {
  check(sqlite3_bind_null(ready(), at));
  return *this;
}

Prepared& Prepared::bind_blob(int at, BytesView bytes) {
  check(sqlite3_bind_blob64(ready(), at, not_null(bytes), bytes.size(), SQLITE_STATIC));
  return *this;
}

Prepared& Prepared::bind_text(int at, std::string_view text) {
  check(sqlite3_bind_text64(ready(), at, not_null(text), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Prepared& Prepared::bind_bytes(int at, BytesView bytes) {
  return is_text(bytes) ? bind_text(at, bytes) : bind_blob(at, bytes);
}

Prepared& Prepared::bind_param(int at, const sql::Param& param) {
  if (param.null()) return bind_null(at);
  switch (param.type()) {
    case sql::Param::Type::kBytes:
      return bind_bytes(at, param.bytes());
    case sql::Param::Type::kBinary:
      return bind_blob(at, param.bytes());
    case sql::Param::Type::kWord:
      return bind_text(at, param.bytes());
    case sql::Param::Type::kInteger:
    case sql::Param::Type::kBoolean:
    case sql::Param::Type::kTime:
      break;
  }
  return bind(at, param.number());
}

bool Prepared::next() {
  const int code = sqlite3_step(ready());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    // The reset forgets the message, so the error is made first.
    const Failure failed = connection_.failure_now(code);
    sqlite3_reset(statement_);
    throw Failure(failed);
  }
  sqlite3_reset(statement_);
  return false;
}

std::int64_t Prepared::change() {
  run();
  return connection_.changes();
}

std::int64_t Prepared::insert() {
  run();
  return connection_.last_row();
}

void Prepared::reset() noexcept {
  if (statement_ != nullptr) sqlite3_reset(statement_);
}

int Prepared::columns() const noexcept { return sqlite3_column_count(statement_); }

sql::Cell Prepared::cell(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return {.null = false, .number = integer(column), .bytes = {}};
    // A person may have written a time by hand; fractions of a millisecond are cut off.
    case SQLITE_FLOAT:
      return {.null = false, .number = integer(column), .bytes = text(column)};
    default:
      return {.null = false, .number = 0, .bytes = text(column)};
  }
}

bool Prepared::null(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Prepared::integer(int column) const noexcept {
  return sqlite3_column_int64(statement_, column);
}

BytesView Prepared::bytes(int column) const noexcept {
  const void* data = sqlite3_column_type(statement_, column) == SQLITE_TEXT
                         ? static_cast<const void*>(sqlite3_column_text(statement_, column))
                         : sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

}  // namespace semel::sqlite
