// How SQLite says what the shared statements mean.
#pragma once

#include "stores/sql/shared_tables.h"

namespace semel::sqlite {

// The tables of a file have some names of their own.
class Dialect final : public sql::Dialect {
 public:
  std::string translated(std::string_view shared) const override;
};

// For all connections: nothing in them depends on the file.
const sql::SharedTexts& shared_texts();

}  // namespace semel::sqlite
