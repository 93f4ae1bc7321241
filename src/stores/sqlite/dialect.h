// SQLite's spelling of the shared statements.
#pragma once

#include "stores/sql/inbox_rows.h"
#include "stores/sql/shared_tables.h"

namespace semel::sqlite {

// Some tables of a file have names of their own.
class Dialect final : public sql::Dialect {
 public:
  std::string translated(std::string_view shared) const override;
};

// The statements of the tables that it has from stores/sql.
struct Texts : sql::SharedTexts {
  explicit Texts(const sql::Dialect& dialect) : SharedTexts(dialect), inbox(dialect) {}
  sql::InboxTexts inbox;
};

// For all connections: they do not depend on the file.
const Texts& texts();

}  // namespace semel::sqlite
