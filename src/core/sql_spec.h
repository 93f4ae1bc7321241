// The config of a SQL handler: plain values, checked before any database is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/recorded_statement.h>

#include "base/json.h"

namespace semel::core {

// How the store's database represents a decimal number.
enum class Decimals {
  kKept,     // NUMERIC, DECIMAL: every digit
  kDoubles,  // floating point: a number that would be rounded is refused
};

struct SqlParam {
  enum class Type { kAsWritten, kInteger, kReal, kDecimal, kText, kBoolean, kJson };
  json::Pointer pointer;
  Type type = Type::kAsWritten;  // kAsWritten: the type in the JSON
  bool optional = false;         // a missing value is NULL, not payload.invalid
  bool of_answer = false;        // of the call's answer, in the second part of a two-part handler
};

struct SqlStatementSpec {
  std::string sql;  // with :name placeholders, each named in params
  std::optional<std::int64_t> expect_rows;
  Otherwise otherwise;
};

struct SqlSpec {
  std::map<std::string, SqlParam> params;
  std::vector<SqlStatementSpec> statements;
  std::vector<UniqueRule> on_unique_violation;
};

// Strategy pessimistic_lock: which business row to lock, and when it is done.
struct LockSpec {
  std::string select;  // … FOR UPDATE
  std::string done_when;
  std::map<std::string, SqlParam> params;
};

// Strategy optimistic_lock: the version a message's change is based on, and that of the row.
struct VersionSpec {
  enum class Missing { kRetry, kHandle, kDuplicate, kDeadLetter };
  SqlParam from;
  std::string current;
  Missing missing = Missing::kRetry;  // there is no row
  std::map<std::string, SqlParam> params;
};

}  // namespace semel::core
