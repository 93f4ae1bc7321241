// PositionRows: the table of source positions.
#pragma once

#include <optional>
#include <string_view>

#include "stores/sql/statements.h"

namespace semel::sql {

struct PositionTexts {
  explicit PositionTexts(const Dialect& dialect);
  SqlText load, save;
};

class PositionRows {
 public:
  PositionRows(Statements& statements, const PositionTexts& texts)
      : statements_(statements), texts_(texts) {}

  std::optional<Bytes> load(ConsumerNumber consumer, std::string_view partition);
  void save(ConsumerNumber consumer, std::string_view partition, BytesView position, StoreTime now);

 private:
  Statements& statements_;
  const PositionTexts& texts_;
};

}  // namespace semel::sql
