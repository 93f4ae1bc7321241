// GateRows: the table of shut gates.
#pragma once

#include <optional>
#include <string_view>

#include <semel/admin/gates.h>

#include "stores/sql/statements.h"

namespace semel::sql {

struct GateTexts {
  explicit GateTexts(const Dialect& dialect);
  SqlText find, shut, change, open, resume;
};

class GateRows {
 public:
  GateRows(Statements& statements, const GateTexts& texts)
      : statements_(statements), texts_(texts) {}

  // Also a gate whose time has passed.
  std::optional<ShutGate> find(ConsumerNumber consumer);
  // An existing pause stays as it is.
  void shut(ConsumerNumber consumer, std::string_view why, StoreTime now,
            std::optional<StoreTime> until);
  void open(ConsumerNumber consumer);
  bool resume(ConsumerNumber consumer);

 private:
  Statements& statements_;
  const GateTexts& texts_;
};

}  // namespace semel::sql
