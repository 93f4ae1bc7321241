// SharedTables: the tables that are the same in every SQL store; and their statements.
#pragma once

#include "stores/sql/gate_rows.h"
#include "stores/sql/position_rows.h"

namespace semel::sql {

struct SharedTexts {
  explicit SharedTexts(const Dialect& dialect) : gates(dialect), positions(dialect) {}

  GateTexts gates;
  PositionTexts positions;
};

// On one connection.
struct SharedTables {
  SharedTables(Statements& statements, const SharedTexts& texts)
      : gates(statements, texts.gates), positions(statements, texts.positions) {}

  GateRows gates;
  PositionRows positions;
};

}  // namespace semel::sql
