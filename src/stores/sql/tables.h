// Tables: what one session does with the store's tables; and their statements, made once per store.
#pragma once

#include "stores/sql/consumers.h"
#include "stores/sql/dead_letter_rows.h"
#include "stores/sql/gate_rows.h"
#include "stores/sql/held_rows.h"
#include "stores/sql/inbox_rows.h"
#include "stores/sql/record_rows.h"
#include "stores/sql/run_rows.h"
#include "stores/sql/step_rows.h"

namespace semel::sql {

struct TableTexts {
  explicit TableTexts(const Dialect& dialect)
      : consumers(dialect),
        records(dialect),
        held(dialect),
        inbox(dialect),
        dead_letters(dialect),
        runs(dialect),
        gates(dialect),
        steps(dialect) {}

  ConsumerTexts consumers;
  RecordTexts records;
  HeldTexts held;
  InboxTexts inbox;
  DeadLetterTexts dead_letters;
  RunTexts runs;
  GateTexts gates;
  StepTexts steps;
};

// For one transaction.
struct Tables {
  Tables(Session& session, const TableTexts& texts, WakeUps& wake_ups)
      : consumers(session, texts.consumers),
        records(session, texts.records),
        held(session, texts.held, wake_ups),
        inbox(session, texts.inbox),
        dead_letters(session, texts.dead_letters),
        runs(session, texts.runs),
        gates(session, texts.gates),
        steps(session, texts.steps) {}

  Consumers consumers;
  RecordRows records;
  HeldRows held;
  InboxRows inbox;
  DeadLetterRows dead_letters;
  RunRows runs;
  GateRows gates;
  StepRows steps;
};

}  // namespace semel::sql
