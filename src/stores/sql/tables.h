// Tables: one session's access to the store's tables; and their statements, made once per store.
#pragma once

#include "stores/sql/held_rows.h"
#include "stores/sql/inbox_rows.h"
#include "stores/sql/record_rows.h"
#include "stores/sql/shared_tables.h"

namespace semel::sql {

struct TableTexts : SharedTexts {
  explicit TableTexts(const Dialect& dialect)
      : SharedTexts(dialect), records(dialect), held(dialect), inbox(dialect) {}

  RecordTexts records;
  HeldTexts held;
  InboxTexts inbox;
};

// For one transaction.
struct Tables : SharedTables {
  Tables(Session& session, const TableTexts& texts, WakeUps& wake_ups)
      : SharedTables(session, texts),
        records(session, texts.records),
        held(session, texts.held, wake_ups),
        inbox(session, session, texts.inbox) {}

  // The table in which records that are not completed are found.
  RecordRows& open_records() noexcept { return records; }

  RecordRows records;
  HeldRows held;
  InboxRows inbox;
};

}  // namespace semel::sql
