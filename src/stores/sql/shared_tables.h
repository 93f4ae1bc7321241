// SharedTables: the tables that are the same in every SQL store; and their statements.
#pragma once

#include "stores/sql/gate_rows.h"
#include "stores/sql/position_rows.h"
#include "stores/sql/step_rows.h"

namespace semel::sql {

struct SharedTexts {
  explicit SharedTexts(const Dialect& dialect)
      : gates(dialect), positions(dialect), steps(dialect) {}

  GateTexts gates;
  PositionTexts positions;
  StepTexts steps;
};

// On one connection.
struct SharedTables {
  SharedTables(Statements& statements, const SharedTexts& texts)
      : gates(statements, texts.gates),
        positions(statements, texts.positions),
        steps(statements, texts.steps) {}

  GateRows gates;
  PositionRows positions;
  StepRows steps;
};

}  // namespace semel::sql
