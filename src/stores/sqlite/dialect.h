// How SQLite says what the shared statements mean.
#pragma once

#include "stores/sql/inbox_rows.h"
#include "stores/sql/shared_tables.h"

namespace semel::sqlite {

// The tables of a file have some names of their own.
class Dialect final : public sql::Dialect {
 public:
  std::string translated(std::string_view shared) const override;
};

// The statements of the tables that it has from stores/sql.
struct Texts : sql::SharedTexts {
  explicit Texts(const sql::Dialect& dialect) : SharedTexts(dialect), inbox(dialect) {}
  sql::InboxTexts inbox;
};

// For all connections: nothing in them depends on the file.
const Texts& texts();

}  // namespace semel::sqlite
