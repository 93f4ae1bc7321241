// StepRows: the journal of steps, and the notes of what is being given up.
#pragma once

#include <semel/steps.h>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

class StepRows {
 public:
  explicit StepRows(Connection& connection);

  StepJournal read(const KeyId& record);
  void keep(const KeyId& record, const StepEntry& entry, StoreTime now);
  void give_up(const KeyId& record, const GivingUp& note, StoreTime now);
  // Forgets that note, and all of it.
  void given_up(const KeyId& record);
  void forget(const KeyId& record);

 private:
  Prepared read_;
  Prepared keep_;
  Prepared give_up_;
  Prepared given_up_;
  Prepared forget_;
};

}  // namespace semel::sqlite
