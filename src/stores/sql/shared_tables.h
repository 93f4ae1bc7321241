// SharedTables: the tables that are the same in every SQL store; and their statements.
#pragma once

#include "stores/sql/audit_rows.h"
#include "stores/sql/consumers.h"
#include "stores/sql/dead_letter_rows.h"
#include "stores/sql/gate_rows.h"
#include "stores/sql/position_rows.h"
#include "stores/sql/run_rows.h"
#include "stores/sql/step_rows.h"

namespace semel::sql {

struct SharedTexts {
  explicit SharedTexts(const Dialect& dialect)
      : audit(dialect),
        consumers(dialect),
        dead_letters(dialect),
        gates(dialect),
        positions(dialect),
        runs(dialect),
        steps(dialect) {}

  AuditTexts audit;
  ConsumerTexts consumers;
  DeadLetterTexts dead_letters;
  GateTexts gates;
  PositionTexts positions;
  RunTexts runs;
  StepTexts steps;
};

// On one connection.
struct SharedTables {
  SharedTables(Statements& statements, const SharedTexts& texts)
      : audit(statements, texts.audit),
        consumers(statements, texts.consumers),
        dead_letters(statements, texts.dead_letters),
        gates(statements, texts.gates),
        positions(statements, texts.positions),
        runs(statements, texts.runs),
        steps(statements, texts.steps) {}

  AuditRows audit;
  Consumers consumers;
  DeadLetterRows dead_letters;
  GateRows gates;
  PositionRows positions;
  RunRows runs;
  StepRows steps;
};

}  // namespace semel::sql
