// StepRows: the journal of steps, and the notes of giving up.
#pragma once

#include <cstddef>
#include <vector>

#include <semel/spi/step_store.h>

#include "stores/sql/statements.h"

namespace semel::sql {

struct StepTexts {
  explicit StepTexts(const Dialect& dialect);
  SqlText read, last, erase, add, given_up, forget;
};

class StepRows {
 public:
  StepRows(Statements& statements, const StepTexts& texts)
      : statements_(statements), texts_(texts) {}

  // For a record that is not completed; otherwise its rows only wait for the purge.
  StepJournal read(const KeyId& record);
  void keep(const KeyId& record, const StepEntry& entry, StoreTime now);
  void give_up(const KeyId& record, const GivingUp& note, StoreTime now);
  // given_up forgets that note; forget forgets the whole journal.
  void given_up(const KeyId& record);
  void forget(const KeyId& record);

 private:
  Statements& statements_;
  const StepTexts& texts_;
};

}  // namespace semel::sql
