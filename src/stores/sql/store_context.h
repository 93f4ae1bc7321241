// StoreContext: shared by the ports of one store.
#pragma once

#include "stores/sql/instances.h"
#include "stores/sql/pool.h"
#include "stores/sql/tables.h"

namespace semel::sql {

// All of it outlives the ports.
struct StoreContext {
  Pool& pool;
  const TableTexts& texts;
  WakeUps& wake_ups;
  Instances& instances;

  Tables tables(Session& session) const { return {session, texts, wake_ups}; }
};

}  // namespace semel::sql
