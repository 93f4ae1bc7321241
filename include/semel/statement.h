// Value and Rows: what goes into a statement of a handler's transaction, and what comes out of it.
//
// Plain values; safe to read from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <semel/bytes.h>

namespace semel {

struct Null {
  bool operator==(const Null&) const = default;
};
struct Blob {
  Bytes bytes;
  bool operator==(const Blob&) const = default;
};
// A number with all its digits, as `-12.50` or `1e3`: NUMERIC or DECIMAL to a server. For
// parameters only: such a column is returned as text. SQLite has no such type: there the number
// becomes an integer or a double if that is exact, and is refused if it would be rounded.
struct Decimal {
  std::string text;
  bool operator==(const Decimal&) const = default;
};
// A parameter or a column: NULL, integer, double, text, blob or decimal.
using Value = std::variant<Null, std::int64_t, double, std::string, Blob, Decimal>;

struct Rows {
  std::vector<std::string> columns;      // their names, in the order of the statement
  std::vector<std::vector<Value>> rows;  // each with a value for each column
};

}  // namespace semel
